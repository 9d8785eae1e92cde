/** The built-in tools, in the order the model is shown them. */
import { randomUUID } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import { askUserQuestionTool } from './ask-user-question.ts'
import { createArtifactTool } from './create-artifact.ts'
import { editFileTool } from './edit-file.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { requestUserActionTool } from './request-user-action.ts'
import { searchFilesTool } from './search-files.ts'
import { type TerminalOptions, terminalTool } from './terminal.ts'
import { todoTool } from './todo.ts'
import type { Tool } from './tool.ts'
import { type ResolveHost, webFetchTool } from './web-fetch.ts'
import { writeFileTool } from './write-file.ts'

export type BuiltinOptions = {
  /** Counts a session's artifacts. */
  store: Pick<LogStore, 'listArtifacts'>
  terminal?: TerminalOptions
  resolveHost?: ResolveHost
  newId?: () => string
}

export const builtinTools = ({
  store,
  terminal,
  resolveHost,
  newId = randomUUID,
}: BuiltinOptions): Tool[] => [
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  searchFilesTool(),
  terminalTool(terminal),
  todoTool,
  askUserQuestionTool,
  requestUserActionTool(newId),
  createArtifactTool(store, newId),
  webFetchTool(resolveHost),
]
