/** The built-in tools, in the order in which the model sees them. */
import { randomUUID } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import type { ResolveHost } from '@cairn/sandbox/guarded-lookup'
import type { SandboxProvider, PolicyProxy } from '@cairn/sandbox'
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
  store: { artifacts: Pick<LogStore['artifacts'], 'list'> }
  /** The sandbox of commands; null: no terminal tool. */
  sandbox: SandboxProvider | null
  /** The way out of its sandboxes; absent: none. */
  proxy?: PolicyProxy | null
  /** Extra environment of its commands. */
  commandEnv?: Readonly<Record<string, string>>
  /** Size limit of a workspace; absent: none. */
  quota?: Quota
  resolveHost?: ResolveHost
  newId?: () => string
}

/** The definitions only, for display without running. */
export const builtinDefinitions = (): Tool[] =>
  builtinTools({
    store: { artifacts: { list: () => Promise.resolve([]) } },
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
