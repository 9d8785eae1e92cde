/** cairn acp: an agent for editors; see acp/main.ts. */
import { runAcp } from '../acp/main.ts'
import { defineCommand } from './command.ts'
import { EXIT } from '../exit.ts'

export const acp = defineCommand({
  name: 'acp',
  summary: 'Run an Agent Client Protocol (ACP) agent for editors on stdin and stdout',
  usage: [
    ['acp', "start a service for the editor; the editor's folder is the workspace"],
    ['acp --url URL --token TOKEN', 'use a running service, with its sessions and workspaces'],
  ],
  options: {
    url: { type: 'string' },
    token: { type: 'string' },
    box: { type: 'boolean', default: false },
  },
  async run({ values }) {
    await runAcp([
      ...(values.url === undefined ? [] : ['--url', values.url]),
      ...(values.token === undefined ? [] : ['--token', values.token]),
      ...(values.box ? ['--box'] : []),
    ])
    return EXIT.ok.code
  },
})
