/**
 * Truncates long results: the model gets both ends, and the full text is saved in the workspace, where it can
 * read on.
 */
import { createHash } from 'node:crypto'
import { asError } from '@cairn/protocol'
import { locate, replaceFile, RESERVED_DIR } from '@cairn/workspace'

export const MAX_RESULT_BYTES = 50 * 1024
const MAX_RESULT_LINES = 2000

export type FittedResult = { content: string; truncated?: true; full_result_path?: string }

const countLines = (text: string) => text.split('\n').length
const fits = (text: string, bytes: number, lines: number) =>
  Buffer.byteLength(text) <= bytes && countLines(text) <= lines

/** The beginning of a text within the limits of bytes and lines, cut at a line end if one is near. */
function takeStart(text: string, bytes: number, lines: number): string {
  const cut = Buffer.from(text)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd$/, '')
    .split('\n')
    .slice(0, lines)
    .join('\n')
  const lastLine = cut.lastIndexOf('\n')
  return lastLine > cut.length / 2 ? cut.slice(0, lastLine) : cut
}

function takeEnd(text: string, bytes: number, lines: number): string {
  const all = Buffer.from(text)
  const cut = all
    .subarray(Math.max(0, all.length - bytes))
    .toString('utf8')
    .replace(/^\ufffd+/, '')
    .split('\n')
    .slice(-lines)
    .join('\n')
  const firstLine = cut.indexOf('\n')
  return firstLine >= 0 && firstLine < cut.length / 2 ? cut.slice(firstLine + 1) : cut
}

/** Both ends of a text with a note between them about the missing part and where it is. */
function cutText(text: string, bytes: number, lines: number, where: string): string {
  if (fits(text, bytes, lines)) return text
  const start = takeStart(text, Math.floor(bytes * 0.6), Math.floor(lines * 0.6))
  const end = takeEnd(text, Math.floor(bytes * 0.35), Math.floor(lines * 0.35))
  return (
    `${start}\n[… ${Buffer.byteLength(text) - Buffer.byteLength(start) - Buffer.byteLength(end)} of ` +
    `${Buffer.byteLength(text)} bytes cut; ${where} …]\n${end}`
  )
}

/** The member with an object's longest text; other members (such as an exit code) are kept whole. */
function largestMember(content: Record<string, unknown>): string | undefined {
  const texts = Object.entries(content).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return texts.toSorted(([, a], [, b]) => b.length - a.length)[0]?.[0]
}

function cutContent(content: string | Record<string, unknown>, where: string): string {
  if (typeof content === 'string') return cutText(content, MAX_RESULT_BYTES, MAX_RESULT_LINES, where)
  const key = largestMember(content)
  if (key !== undefined) {
    // JSON escapes some characters to several bytes, so the limit is lowered until the whole fits.
    for (let bytes = MAX_RESULT_BYTES - 1024; bytes > 1024; bytes = Math.floor(bytes * 0.7)) {
      const cut = JSON.stringify({
        ...content,
        [key]: cutText(String(content[key]), bytes, MAX_RESULT_LINES, where),
      })
      if (Buffer.byteLength(cut) <= MAX_RESULT_BYTES) return cut
    }
  }
  return cutText(JSON.stringify(content, null, 2), MAX_RESULT_BYTES, MAX_RESULT_LINES, where)
}

/** A safe file name for a call's id, which a model server chose and may contain anything. */
function fileNameOf(toolCallId: string): string {
  const plain = toolCallId.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 80)
  return plain === toolCallId
    ? plain
    : `${plain}-${createHash('sha256').update(toolCallId).digest('hex').slice(0, 12)}`
}

/** Where what belongs to a result is saved. */
export const resultPath = (toolCallId: string, ending: string): string =>
  `${RESERVED_DIR}/results/${fileNameOf(toolCallId)}${ending}`

async function saveWhole(workspace: string, path: string, text: string): Promise<void> {
  await using found = await locate(workspace, path, 'own')
  await replaceFile(found, text)
}

/** A result as the model reads it: at most 50 KB and 2,000 lines (contract 7). */
export async function fitResult(
  workspace: string,
  toolCallId: string,
  content: string | Record<string, unknown>,
): Promise<FittedResult> {
  const key = typeof content === 'string' ? undefined : largestMember(content)
  const longest = typeof content === 'string' ? content : key === undefined ? '' : String(content[key])
  // Checked before serializing to JSON, which takes time for megabytes of output.
  if (fits(longest, MAX_RESULT_BYTES, MAX_RESULT_LINES)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    if (Buffer.byteLength(text) <= MAX_RESULT_BYTES) return { content: text }
  }
  const path = resultPath(toolCallId, '.txt')
  try {
    await saveWhole(workspace, path, wholeOf(content, key, longest))
  } catch (error) {
    return {
      content: cutContent(content, `the rest could not be saved (${asError(error).message})`),
      truncated: true,
    }
  }
  return {
    content: cutContent(content, `the full result is in ${path}: use read_file`),
    truncated: true,
    full_result_path: path,
  }
}

/**
 * What is saved: only the long text if there is one, because it can be read by lines, unlike one line of
 * JSON.
 */
function wholeOf(
  content: string | Record<string, unknown>,
  key: string | undefined,
  longest: string,
): string {
  if (typeof content === 'string') return content
  const rest = key === undefined ? content : { ...content, [key]: '' }
  return longest.length >= JSON.stringify(rest).length ? longest : JSON.stringify(content, null, 2)
}
