/** The built-in tools, in the order the model is shown them. */
import { randomUUID } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import type { ResolveHost } from '../governance/guarded-lookup.ts'
import type { SandboxProvider } from '../sandbox/sandbox.ts'
import type { PolicyProxy } from '../sandbox/policy-proxy.ts'
import { askUserQuestionTool } from './ask-user-question.ts'
import { createArtifactTool } from './create-artifact.ts'
import { editFileTool } from './edit-file.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { requestUserActionTool } from './request-user-action.ts'
import { searchFilesTool } from './search-files.ts'
import { terminalTool } from './terminal.ts'
import { todoTool } from './todo.ts'
import type { Tool } from './tool.ts'
import { webFetchTool } from './web-fetch.ts'
import { type Quota, withinQuota } from './workspace-quota.ts'
import { writeFileTool } from './write-file.ts'

export type BuiltinOptions = {
  /** Counts a session's artifacts. */
  store: Pick<LogStore, 'listArtifacts'>
  /** What commands run in; null: there is no terminal. */
  sandbox: SandboxProvider | null
  /** The way out of its boxes; absent: they have none. */
  proxy?: PolicyProxy | null
  /** Of its commands, beside what all of them have. */
  commandEnv?: Readonly<Record<string, string>>
  /** How much a workspace may hold; absent: anything. */
  quota?: Quota
  resolveHost?: ResolveHost
  newId?: () => string
}

/** As they are defined, for those who show them and run none. */
export const builtinDefinitions = (): Tool[] =>
  builtinTools({
    store: { listArtifacts: () => Promise.resolve([]) },
    sandbox: {
      kind: 'bubblewrap',
      network: 'none',
      cutsNetwork: true,
      hasProxies: false,
      holdsBrowsers: false,
      caveat: null,
      open() {
        throw new Error('[builtinDefinitions] nothing runs here')
      },
      list: () => Promise.resolve([]),
      remove: () => Promise.resolve(),
    },
  })

export const builtinTools = ({
  store,
  sandbox,
  proxy = null,
  commandEnv = {},
  quota,
  resolveHost,
  newId = randomUUID,
}: BuiltinOptions): Tool[] => [
  readFileTool,
  ...[writeFileTool, editFileTool].map(tool => (quota === undefined ? tool : withinQuota(tool, quota))),
  listFilesTool,
  searchFilesTool(),
  ...(sandbox === null
    ? []
    : [terminalTool({ sandbox, proxy, env: commandEnv, ...(quota === undefined ? {} : { quota }) })]),
  todoTool,
  askUserQuestionTool,
  requestUserActionTool(newId),
  createArtifactTool(store, newId),
  webFetchTool(resolveHost),
]
