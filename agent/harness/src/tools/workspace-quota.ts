/**
 * Limits the size of a workspace. Tools that write files are refused in advance; commands are watched while
 * they run and checked afterwards. Above the limit a command can truncate and remove files but write nothing.
 */
import { statfs } from 'node:fs/promises'
import type { Config } from '@cairn/protocol'
import { Directory, enterIfThere, MAX_FILE_BYTES } from '@cairn/workspace'
import type { Watch } from '@cairn/sandbox'
import type { Tool } from './tool.ts'

type Usage = { /** On disk. */ bytes: number; /** Including folders and links. */ files: number }
export type QuotaLimits = Pick<Config['sandbox'], 'workspace_mb' | 'workspace_files'>

export type Quota = {
  measure(workspace: string): Promise<Usage>
  /** The exceeded limit as a sentence; null: none. */
  problem(usage: Usage): string | null
  /** Throws if this number of additional bytes does not fit. */
  mustFit(workspace: string, bytes: number): Promise<void>
  /** Watches a running command that started at this usage; returns a reason to end it. */
  watch(workspace: string, before: Usage): Promise<Watch>
}

const MB = 2 ** 20
const KNOWN = 1000
/** Each level holds a descriptor; deeper content counts as exceeding the limit. */
const MAX_DEPTH = 200
/** Entries read in parallel. */
const BATCH = 64

export function createQuota({ workspace_mb, workspace_files }: QuotaLimits): Quota {
  /** Never too low while only tools and commands write; counted again before anything is refused. */
  const known = new Map<string, Usage>()
  const remember = (workspace: string, usage: Usage): Usage => {
    known.delete(workspace)
    known.set(workspace, usage)
    const [oldest] = known.keys()
    if (known.size > KNOWN && oldest !== undefined) known.delete(oldest)
    return usage
  }
  const isOver = ({ bytes, files }: Usage): boolean => bytes > workspace_mb * MB || files > workspace_files
  const measure = async (workspace: string): Promise<Usage> => remember(workspace, await count(workspace))
  const problem = (usage: Usage): string | null =>
    isOver(usage)
      ? `the workspace is over its quota: ${Math.ceil(usage.bytes / MB)} MB of ${workspace_mb}, ` +
        `${usage.files} files and folders of ${workspace_files}. Remove some: until then nothing more can ` +
        'be written'
      : null

  return {
    measure,
    problem,
    async mustFit(workspace, bytes) {
      const grown = ({ bytes: now, files }: Usage): Usage => ({ bytes: now + bytes, files: files + 1 })
      let usage = known.get(workspace) ?? (await measure(workspace))
      if (isOver(grown(usage))) usage = await measure(workspace)
      const found = bytes > 0 ? problem(grown(usage)) : null
      if (found !== null) throw new Error(found)
      remember(workspace, grown(usage))
    },
    async watch(workspace, before) {
      const left = { bytes: workspace_mb * MB - before.bytes, files: workspace_files - before.files }
      const start = await statfs(workspace)
      return async () => {
        // The file system's figure is quick to read but includes other files, so count only above the limit.
        const now = await statfs(workspace)
        const isSuspect =
          (start.bfree - now.bfree) * now.bsize > left.bytes || start.ffree - now.ffree > left.files
        if (!isSuspect) return null
        const usage = await count(workspace)
        const hasGrown = usage.bytes > before.bytes || usage.files > before.files
        return hasGrown ? problem(usage) : null
      }
    },
  }
}

async function count(workspace: string): Promise<Usage> {
  const usage: Usage = { bytes: 0, files: 0 }
  /** Counts a file with several names once. */
  const seen = new Set<string>()

  async function look(folder: Directory, name: string): Promise<void> {
    const stats = await folder.look(name)
    if (stats === null) return
    usage.files += 1
    if (stats.nlink > 1 && !stats.isDirectory()) {
      const id = `${stats.dev}:${stats.ino}`
      if (seen.has(id)) return
      seen.add(id)
    }
    usage.bytes += stats.blocks * 512
  }

  async function walk(folder: Directory, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) {
      usage.files = Infinity
      return
    }
    const entries = await folder.entries().catch(async (error: NodeJS.ErrnoException) => {
      // Its owner removed the permissions, which must not hide its content.
      if (error.code !== 'EACCES') throw error
      await folder.unlock()
      return folder.entries()
    })
    for (let at = 0; at < entries.length; at += BATCH)
      await Promise.all(entries.slice(at, at + BATCH).map(({ name }) => look(folder, name)))
    for (const { name, kind } of entries) {
      if (kind !== 'folder') continue
      await using inner = await enterIfThere(folder, name)
      if (inner !== null) await walk(inner, depth + 1)
    }
  }

  await using top = await Directory.open(workspace)
  await walk(top, 1)
  return usage
}

/** Each line end may be written as CRLF. */
const bytesWritten = (text: unknown): number =>
  Buffer.byteLength(String(text)) + String(text).split('\n').length - 1

/** The maximum growth of the workspace by one call, per tool. */
const GROWTH: Readonly<Record<string, (args: Record<string, unknown>) => number>> = {
  write_file: ({ content }) => bytesWritten(content),
  edit_file({ old_string, new_string, replace_all }) {
    const more = bytesWritten(new_string) - Buffer.byteLength(String(old_string))
    return more <= 0 ? 0 : replace_all === true ? MAX_FILE_BYTES : more
  },
}

/** A file tool that is refused if its output does not fit in the workspace. */
export function withinQuota(tool: Tool, quota: Quota): Tool {
  const growth = GROWTH[tool.name]
  if (growth === undefined) throw new Error(`[quota] unknown write size of ${tool.name}`)
  return {
    ...tool,
    async run(args, context) {
      await quota.mustFit(context.workspace, growth(args))
      return tool.run(args, context)
    },
  }
}
