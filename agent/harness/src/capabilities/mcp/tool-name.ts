/**
 * Names of MCP tools: `mcp__<server>__<tool>`, within the characters and length that model servers accept.
 * The configuration rejects server names with which two servers could share a prefix.
 */
import { createHash } from 'node:crypto'

const MAX_NAME = 64
const HASH_CHARS = 8

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)
const plainLetters = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')

/**
 * The name that the model sees. A modified name ends in a hash of the original. A server may still give
 * another tool exactly that name; then its list contains the name twice, and the first tool is used.
 */
export function mcpToolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`
  const name = plainLetters(plain)
  return name === plain && name.length <= MAX_NAME
    ? name
    : `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${shortHash(plain)}`
}

/** The common prefix of a server's tool names. */
export const mcpToolPrefix = (server: string): string => plainLetters(`mcp__${server}__`)

/** Server names are short enough that truncation never reaches the prefix. */
export const isNameOfServer = (name: string, server: string): boolean =>
  name.startsWith(mcpToolPrefix(server))
