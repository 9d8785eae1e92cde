/**
 * The result of a tool call, read block by block: a bad block costs itself, and nothing is lost. Pictures,
 * audio and other files become files of the workspace.
 */
import type { ResultPicture } from '@cairn/protocol'
import { z } from 'zod'
import { isDeepStrictEqual } from 'node:util'
import type { ResultFile, SavedFile } from '../../tools/result-files.ts'
import type { ToolOutcome } from '../../tools/tool.ts'

/** Only the frame; each block is read by itself. */
export const CallResult = z.looseObject({})
type Json = Record<string, unknown>
type Save = (file: ResultFile, at: number) => Promise<SavedFile>

/** Throws if the server reports that the call failed, with the server's text as the reason. */
export async function readResult(result: Json, save: Save): Promise<ToolOutcome> {
  const { content, structuredContent, isError, toolResult } = result
  const texts: string[] = []
  const pictures: ResultPicture[] = []
  let files = 0
  for (const block of blocksOf(content)) {
    const read = readBlock(block)
    if (typeof read === 'string') texts.push(read)
    else {
      const saved = await save(read, files)
      files += 1
      texts.push(saved.text)
      if (saved.picture !== undefined) pictures.push(saved.picture)
    }
  }
  // The first revision of the protocol had `toolResult` instead.
  const structured = structuredContent ?? (content === undefined ? toolResult : undefined)
  const text = texts.join('\n')
  if (isError === true) throw new Error(withStructure(text, structured) || 'the server gave no reason')
  const shown = pictures.length === 0 ? {} : { pictures }
  return text === '' && isObject(structured)
    ? { content: structured, ...shown }
    : { content: withStructure(text, structured), ...shown }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function blocksOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content
  if (content === undefined || content === null) return []
  return [typeof content === 'string' ? { type: 'text', text: content } : content]
}

/**
 * The text, and the structured content unless the text is its JSON: a server should repeat it as text for
 * clients that read only text, and many write one line instead.
 */
function withStructure(text: string, structured: unknown): string {
  if (structured === undefined || structured === null || repeats(text, structured)) return text
  const json = JSON.stringify(structured)
  return text === '' ? json : `${text}\n\nStructured content:\n${json}`
}

function repeats(text: string, structured: unknown): boolean {
  if (!/^\s*[[{"\d-]|^\s*(?:true|false)/.test(text)) return false
  try {
    return isDeepStrictEqual(JSON.parse(text), structured)
  } catch {
    // The text is not JSON, so it is not a repetition.
    return false
  }
}

const SHOWN_CHARS = 200

function readBlock(block: unknown): string | ResultFile {
  if (isObject(block)) {
    const { type, text, mimeType, data, resource, uri, name, description } = block
    const file = fileOf(String(type), mimeType, data)
    if (type === 'text' && typeof text === 'string') return text
    if ((type === 'image' || type === 'audio') && file !== null) return file
    if (type === 'resource_link' && typeof uri === 'string') {
      const parts = [name, uri, description].filter(part => typeof part === 'string' && part !== '')
      return `[resource: ${parts.join(', ')}]`
    }
    if (type === 'resource' && isObject(resource)) {
      if (typeof resource['text'] === 'string') return resource['text']
      const blob = fileOf('resource', resource['mimeType'], resource['blob'], resource['uri'])
      if (blob !== null) return blob
    }
  }
  const type =
    isObject(block) && typeof block['type'] === 'string' ? block['type'].slice(0, 50) : typeof block
  return `[content of the type ${JSON.stringify(type)} that cannot be read: ${shownOf(block)}]`
}

const shownOf = (block: unknown): string => (JSON.stringify(block) ?? 'undefined').slice(0, SHOWN_CHARS)

/** A file from base64, with or without the prefix of a data: URL; null: the data is not base64. */
function fileOf(kind: string, mimeType: unknown, data: unknown, uri?: unknown): ResultFile | null {
  if (typeof data !== 'string') return null
  const [, inUrl, base64 = data] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(data) ?? []
  const compact = base64.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) return null
  return {
    kind,
    mime_type: mimeText(mimeType) ?? mimeText(inUrl) ?? 'application/octet-stream',
    bytes: Buffer.from(compact, 'base64'),
    extension: typeof uri === 'string' ? (/\.([A-Za-z0-9]{1,8})$/.exec(uri)?.[1]?.toLowerCase() ?? '') : '',
  }
}

const mimeText = (value: unknown): string | null =>
  typeof value === 'string' && /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.test(value)
    ? (value.split(';')[0] ?? '').toLowerCase()
    : null
