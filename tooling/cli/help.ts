/** The help of a program: its commands, environment variables and exit codes. */
import { type Command, type CommandLine, type Output, table, UsageError } from './command.ts'

type About<Io extends Output, Code extends number> = {
  commands: () => Promise<readonly Command<Io, Code>[]>
  /** What holds for every command, in one or two sentences. */
  note: string
  /** Environment variables with their defaults. */
  environment?: Readonly<Record<string, string>>
  exitCodes: Readonly<Record<string, { code: Code; means: string }>>
}

export function helpCommand<Io extends Output, Code extends number>(
  { program, defineCommand, usageOf }: CommandLine<Io, Code>,
  { commands: load, note, environment, exitCodes }: About<Io, Code>,
): Command<Io, Code> {
  const overview = (commands: readonly Command<Io, Code>[]): string =>
    `usage: ${program} COMMAND [OPTION…]\n\n` +
    `${table(commands.map(({ name, summary }) => [name, summary]))}\n${note}\n` +
    (environment === undefined ? '' : `\nEnvironment and defaults\n${table(Object.entries(environment))}`) +
    `\nExit codes\n${table(Object.values(exitCodes).map(({ code, means }) => [String(code), means]))}`

  return defineCommand({
    name: 'help',
    summary: 'Show this help, or the usage of one command',
    usage: [['help [COMMAND]', 'list all commands, or show the usage of one']],
    options: {},
    async run({ values, positionals }, io) {
      const commands = await load()
      const wanted = positionals.join(' ')
      const found = commands.find(({ name }) => name === wanted)
      if (wanted !== '' && found === undefined)
        throw new UsageError(`Unknown command "${wanted}"; ${program} help lists all commands`)
      const listed = () => commands.map(({ name, summary, usage }) => ({ name, summary, usage }))
      if (values.json)
        io.out(`${JSON.stringify({ commands: listed(), environment, exit_codes: exitCodes })}\n`)
      else io.out(found === undefined ? overview(commands) : `${found.summary}.\n\n${usageOf(found)}`)
      return 0 as Code
    },
  })
}
