/**
 * The thread behind search_files. A regular expression can run forever, and only ending its thread stops it;
 * so matching happens here, and each file's matches are posted as they are found.
 */
import { matchesGlob } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { filesBelow, type FoundFile, readFileIn } from '@cairn/workspace/files-below'
import type { SearchFound, SearchJob } from './search-files.ts'

const MAX_SEARCHED_BYTES = 5 * 1024 * 1024
const MAX_EXCERPT = 200
/** Folders of third-party code and of git; matches there would hide the relevant ones. */
const SKIPPED = new Set(['.git', 'node_modules', '.venv', '__pycache__', '.cairn'])

const job = workerData as SearchJob
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const post = (found: SearchFound) => parentPort?.postMessage(found)

function readSearchable({ folder, name }: FoundFile): string | null {
  try {
    const bytes = readFileIn(folder, name, MAX_SEARCHED_BYTES)
    return bytes === null || bytes.subarray(0, 8192).includes(0) ? null : bytes.toString('utf8')
  } catch {
    // A file that vanished or is unreadable was not searched; the count shows it.
    return null
  }
}

const isWanted = (name: string) =>
  job.glob === undefined ||
  matchesGlob(job.glob.includes('/') ? name : (name.split('/').at(-1) ?? name), job.glob)

function excerpt(line: string, at: number): string {
  if (line.length <= MAX_EXCERPT) return line
  const start = Math.max(0, Math.min(at - 60, line.length - MAX_EXCERPT))
  const end = start + MAX_EXCERPT
  return `${start > 0 ? '…' : ''}${line.slice(start, end)}${end < line.length ? '…' : ''}`
}

function search(): void {
  const pattern = new RegExp(job.pattern, job.ignoreCase ? 'iu' : 'u')
  let searched = 0
  let skipped = 0
  let matches = 0
  const leaveOut = () => void (skipped += 1)
  const files: Iterable<FoundFile> =
    job.file === undefined
      ? filesBelow(job.top, SKIPPED, leaveOut)
      : [{ path: job.file, folder: job.top, name: job.file }]
  for (const file of files) {
    if (!isWanted(file.path)) continue
    const text = readSearchable(file)
    if (text === null) {
      leaveOut()
      continue
    }
    searched += 1
    const found: { line: number; text: string }[] = []
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      const match = pattern.exec(line)
      if (match === null) continue
      found.push({ line: index + 1, text: excerpt(line, match.index) })
      matches += 1
      if (matches === job.maxMatches) break
    }
    if (found.length > 0) post({ kind: 'matches', file: file.path, found })
    if (matches === job.maxMatches) break
  }
  post({ kind: 'done', searched, skipped, full: matches === job.maxMatches })
}

search()
