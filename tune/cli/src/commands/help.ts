/** cairn-tune help: every command, and the exit codes. */
import { type Command, defineCommand, table, usageOf } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

export const helpFor = (commands: () => readonly Command[]): Command =>
  defineCommand({
    name: 'help',
    summary: 'Show all commands, or the usage of one',
    usage: [['help [COMMAND]', 'list all commands, or show the usage of one']],
    options: {},
    async run({ values, positionals }, io) {
      const name = positionals.join(' ')
      const found = commands().find(command => command.name === name)
      if (name !== '' && found === undefined)
        throw new UsageError(
          `unknown command ${JSON.stringify(name)}; \`cairn-tune help\` lists all commands`,
        )
      if (values.json)
        io.out(
          `${JSON.stringify({
            commands: commands().map(({ name: one, summary, usage }) => ({ name: one, summary, usage })),
            exit_codes: EXIT,
          })}\n`,
        )
      else io.out(found === undefined ? overview(commands()) : `${found.summary}.\n\n${usageOf(found)}`)
      return EXIT.ok.code
    },
  })

const overview = (commands: readonly Command[]): string => `usage: cairn-tune COMMAND [OPTION…]

${table(commands.map(({ name, summary }) => [name, summary]))}
Every command takes --help and --json. Results go to stdout, everything else to stderr.

Exit codes
${table(Object.values(EXIT).map(({ code, means }) => [String(code), means]))}`
