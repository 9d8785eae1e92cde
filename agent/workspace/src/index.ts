/**
 * Files of a session's workspace. A command of the agent may change them at any time, and may replace a
 * folder by a symbolic link. Therefore every access goes through this package: names are resolved in open
 * folders, and the kernel never follows a link.
 *
 * locate       resolves a path, including links that stay inside the workspace
 * Located      the target of a path, held open
 * Directory    an open folder, and the operations on names in it
 * PathProblem  why a path is refused, written for the author of the path
 */
export { addressing } from './addressing.ts'
export { type ChangedFile, changedFiles } from './changed-files.ts'
export { type CheckpointManifest, getContent, NoCheckpoint, readCheckpoint } from './checkpoint-content.ts'
export { copyFolder } from './copy-out.ts'
export { type CopiedFile, copyWorkspace, TooLarge } from './copy-workspace.ts'
export { Directory, type Entry } from './directory.ts'
export {
  MAX_FILE_BYTES,
  openFile,
  type OpenFile,
  readText,
  readTextBytes,
  removeFile,
  replaceFile,
} from './file.ts'
export { enterIfThere, openFolder } from './folder.ts'
export { type Located, locate, type PathIntent, pathProblem, RESERVED_DIR, WORKSPACE_MARK } from './locate.ts'
export { unlessMissing } from './missing-file.ts'
export { PathProblem } from './path-problem.ts'
export { putFolder } from './put-folder.ts'
export { removeTree } from './remove-tree.ts'
export { makeSessionFolder, sessionFolder } from './session-folder.ts'
export { makeProcessPrivate, workspaceUmask } from './umask.ts'
export { MADE_BY_TOOLS, type WalkedFile, walkFiles } from './walk-files.ts'
