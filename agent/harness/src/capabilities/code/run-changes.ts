/**
 * What a coding agent's run changed in the workspace, per file. Before the agent runs, each file is recorded
 * and its content saved in the checkpoint store. At the end, the files that were created, changed, moved or
 * removed form two checkpoints: before and after. Changes of a person who works in parallel are included.
 *
 * The record is a file in the store, because another runner may end the run. A session has one run at a time,
 * so there is one such file, which the next run replaces.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asError, type EventData } from '@cairn/protocol'
import { type CheckpointManifest, unlessMissing, walkFiles, type WalkedFile } from '@cairn/workspace'
import { canonicalJson } from '../../tools/canonical-json.ts'
import type { Logger } from '@cairn/models/logger'
import { putContent } from '../../tools/checkpoint.ts'
import type { Folders } from '../../turn/folders.ts'

/** Maximum changed files that are listed by name. */
const MAX_NAMED = 50
/** Maximum files that are recorded. */
const MAX_FILES = 50_000
/** Larger files are listed without their content. The API returns no more of one, either. */
const MAX_BYTES = 500_000
/** Maximum total bytes: of the workspace's files before the run, and of those that it changed. */
const MAX_KEPT_BYTES = 32_000_000
const MAX_SHOWN_BYTES = 5_000_000

/** `sha256` null: the content was not saved. */
type Before = { sha256: string | null; mode: number; size: number; ctime_ms: number }
type Files = Record<string, Before>
export type RunChanges = Pick<EventData<'code.run_result'>, 'files_changed' | 'changes'>

const recordIn = (checkpoints: string, run_id: string): string => join(checkpoints, 'runs', `${run_id}.json`)

type RunChangesDeps = {
  folders: Folders
  run_id: string
  /** The prompt was sent, by this process or an earlier one. */
  isBegun: boolean
  logger: Logger
}

/** If the files cannot be recorded, the run continues without, and the reason is logged. */
export function followChanges({ folders, run_id, isBegun, logger }: RunChangesDeps) {
  const without = (thrown: unknown): RunChanges => {
    logger('warn', 'failed to save the changes of a run', { run_id, error: asError(thrown).message })
    return {}
  }
  return {
    onReady: async (): Promise<void> => {
      if (!isBegun) await keepBefore(folders, run_id).catch(without)
    },
    found: (): Promise<RunChanges> => changesSince(folders, run_id).catch(without),
  }
}

async function keepBefore({ workspace, checkpoints }: Folders, run_id: string): Promise<void> {
  const files = new Map<string, Before>()
  let bytes = 0
  for await (const file of walkFiles(workspace)) {
    if (files.size >= MAX_FILES) break
    const { mode, size, ctimeMs: ctime_ms } = file.stats
    const isKept = bytes + size <= MAX_KEPT_BYTES
    const sha256 = isKept ? await keep(checkpoints, file) : null
    if (sha256 !== null) bytes += size
    files.set(file.path, { sha256, mode: mode & 0o777, size, ctime_ms })
  }
  await rm(join(checkpoints, 'runs'), { recursive: true, force: true })
  await mkdir(join(checkpoints, 'runs'), { recursive: true, mode: 0o700 })
  await writeFile(recordIn(checkpoints, run_id), JSON.stringify(Object.fromEntries(files)), { mode: 0o600 })
}

/** Empty if nothing was recorded: the agent had not started. */
async function changesSince({ workspace, checkpoints }: Folders, run_id: string): Promise<RunChanges> {
  const text = await unlessMissing(readFile(recordIn(checkpoints, run_id), 'utf8'))
  if (text === null) return {}
  const changed = await findChanged(workspace, checkpoints, JSON.parse(text) as Files)
  if (changed.length === 0) return {}
  const [before, after]: CheckpointManifest[] = [{}, {}]
  let bytes = 0
  for (const { path, was, now } of changed) {
    const size = (was?.size ?? 0) + (now?.size ?? 0)
    if (was?.sha256 === null || now?.sha256 === null || bytes + size > MAX_SHOWN_BYTES) continue
    bytes += size
    before![path] = was === null ? null : { sha256: was.sha256, mode: was.mode }
    after![path] = now === null ? null : { sha256: now.sha256, mode: now.mode }
  }
  const files_changed = changed.map(({ path }) => path)
  if (bytes === 0 && Object.keys(before!).length === 0) return { files_changed }
  const put = (manifest: CheckpointManifest | undefined) => putContent(checkpoints, canonicalJson(manifest))
  return { files_changed, changes: { before: await put(before), after: await put(after) } }
}

type Changed = { path: string; was: Before | null; now: Before | null }

async function findChanged(workspace: string, checkpoints: string, before: Files): Promise<Changed[]> {
  const known = new Map(Object.entries(before))
  const seen = new Set<string>()
  const changed: Changed[] = []
  for await (const file of walkFiles(workspace)) {
    const { path, stats } = file
    if (seen.size >= MAX_FILES) break
    seen.add(path)
    const was = known.get(path) ?? null
    if (was?.ctime_ms === stats.ctimeMs || changed.length >= MAX_NAMED) continue
    const sha256 = await keep(checkpoints, file)
    const { mode, size, ctimeMs: ctime_ms } = stats
    const now = { sha256, mode: mode & 0o777, size, ctime_ms }
    // Programs often rewrite a file with the same content.
    if (was !== null && sha256 !== null && was.sha256 === sha256 && was.mode === now.mode) continue
    changed.push({ path, was, now })
  }
  const isWhole = seen.size < MAX_FILES
  for (const [path, was] of known) if (isWhole && !seen.has(path)) changed.push({ path, was, now: null })
  return changed.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, MAX_NAMED)
}

async function keep(checkpoints: string, file: WalkedFile): Promise<string | null> {
  if (file.stats.size > MAX_BYTES) return null
  const content = await file.read(MAX_BYTES)
  return content === null ? null : putContent(checkpoints, content)
}
