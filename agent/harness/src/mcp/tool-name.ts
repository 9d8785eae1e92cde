/**
 * Names of the tools of MCP servers: `mcp__<server>__<tool>`, in the letters and the length that model
 * servers take.
 */
import { createHash } from 'node:crypto'

const MAX_NAME = 64
const HASH_CHARS = 8

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)
const plainLetters = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')

/**
 * The name the model sees. One that had to be changed ends in a hash of the original, so that two tools never
 * share one.
 */
export function mcpToolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`
  const name = plainLetters(plain)
  return name === plain && name.length <= MAX_NAME
    ? name
    : `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${shortHash(plain)}`
}

/** Whether a tool of this server can have the name, which may have been cut. */
export const isNameOfServer = (name: string, server: string): boolean =>
  name.startsWith(plainLetters(`mcp__${server}__`).slice(0, MAX_NAME - HASH_CHARS - 1))
