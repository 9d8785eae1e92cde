/** cairn help: lists the commands, the environment variables and the exit codes. */
import { type Command, defineCommand, usageOf } from './command.ts'
import { EXIT, UsageError } from '../exit.ts'

const ENVIRONMENT = {
  PORT: '8787',
  HOST: '127.0.0.1',
  CAIRN_DATA: './data',
  CAIRN_WORKSPACES:
    './workspaces next to ./data; for another CAIRN_DATA, that path with -workspaces appended',
  CAIRN_CONFIG: './cairn.yaml',
  DATABASE_URL:
    'postgres://USER:PASSWORD@HOST/DATABASE?schema=cairn&pool=8 for several processes; ' +
    'without it the store is in CAIRN_DATA',
  DATABASE_SCHEMA: 'cairn',
  LOG_LEVEL: 'info (debug, info, warn, error, silent)',
  CAIRN_URL: 'server that commands connect to; default: the server of the data directory',
  CAIRN_TOKEN: 'token for that server; default: the first admin of the data directory',
} as const

export const helpFor = (loadCommands: () => Promise<readonly Command[]>): Command =>
  defineCommand({
    name: 'help',
    summary: 'Show this help, or the usage of one command',
    usage: [['help [COMMAND]', 'list all commands, or show the usage of one']],
    options: {},
    async run({ values, positionals: [name] }, io) {
      const commands = await loadCommands()
      const found = commands.find(command => command.name === name)
      if (name !== undefined && found === undefined) throw new UsageError(`Unknown command "${name}"`)
      const listed = () => commands.map(({ name, summary, usage }) => ({ name, summary, usage }))
      if (values.json)
        io.out(`${JSON.stringify({ commands: listed(), environment: ENVIRONMENT, exit_codes: EXIT })}\n`)
      else io.out(found === undefined ? overview(commands) : `${found.summary}.\n\n${usageOf(found)}`)
      return EXIT.ok.code
    },
  })

const table = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join('')
}

const overview = (commands: readonly Command[]): string =>
  'usage: cairn COMMAND [OPTION…]\n\n' +
  `${table(commands.map(({ name, summary }) => [name, summary]))}\nEvery command accepts --json ` +
  'and --help; commands that connect to a server accept --url. ' +
  'Data goes to stdout, everything else to stderr.\n' +
  `\nEnvironment and defaults\n${table(Object.entries(ENVIRONMENT))}\nExit codes\n` +
  `${table(Object.values(EXIT).map(({ code, means }) => [String(code), means]))}`
