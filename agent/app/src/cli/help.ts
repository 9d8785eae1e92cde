/** cairn help: lists the commands, the environment variables and the exit codes. */
import { helpCommand } from '@cairn/tooling/cli/help'
import { EXIT } from '../exit.ts'
import { CAIRN, type Command } from './command.ts'

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

export const helpOf = (commands: () => Promise<readonly Command[]>): Command =>
  helpCommand(CAIRN, {
    commands,
    note:
      'Every command accepts --json and --help; commands that connect to a server accept --url. ' +
      'Data goes to stdout, everything else to stderr.',
    environment: ENVIRONMENT,
    exitCodes: EXIT,
  })
