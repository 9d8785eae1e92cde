/** cairn help: lists the commands, the environment variables and the exit codes. */
import { type Command, defineCommand, usageOf } from './command.ts'
import { EXIT, UsageError } from '../exit.ts'

const ENVIRONMENT = {
  PORT: '8787',
  HOST: '127.0.0.1',
  CAIRN_DATA: './data',
  CAIRN_WORKSPACES: './workspaces, beside ./data; beside another CAIRN_DATA its name and -workspaces',
  CAIRN_CONFIG: './cairn.yaml',
  DATABASE_URL:
    'postgres://USER:PASSWORD@HOST/DATABASE?schema=cairn&pool=8 for several processes; else the store ' +
    'is in CAIRN_DATA',
  DATABASE_SCHEMA: 'cairn',
  LOG_LEVEL: 'info (debug, info, warn, error, silent)',
  CAIRN_URL: 'server that commands talk to; else the one on the data directory',
  CAIRN_TOKEN: 'token for it; else the first admin of the data directory',
} as const

export const helpFor = (loadCommands: () => Promise<readonly Command[]>): Command =>
  defineCommand({
    name: 'help',
    summary: 'This text, or all forms of one command',
    usage: [['help [COMMAND]', 'all commands, or the forms of one']],
    options: {},
    async run({ values, positionals: [name] }, io) {
      const commands = await loadCommands()
      const found = commands.find(command => command.name === name)
      if (name !== undefined && found === undefined) throw new UsageError(`there is no command "${name}"`)
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
  'usage: cairn COMMAND [OPTION…]\n' +
  '\n' +
  `${table(commands.map(({ name, summary }) => [name, summary]))}\n` +
  'Every command takes --json and --help, those that talk to a server --url. Data goes to stdout, ' +
  'everything else to stderr.\n' +
  '\n' +
  'Environment and defaults\n' +
  `${table(Object.entries(ENVIRONMENT))}\n` +
  'Exit codes\n' +
  `${table(Object.values(EXIT).map(({ code, means }) => [String(code), means]))}`
