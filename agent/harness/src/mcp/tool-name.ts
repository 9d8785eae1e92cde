/**
 * Names of the tools of MCP servers: `mcp__<server>__<tool>`, in the letters and the length that model
 * servers take. The configuration refuses names of servers with which two servers could share a prefix.
 */
import { createHash } from 'node:crypto'

const MAX_NAME = 64
const HASH_CHARS = 8

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS)
const plainLetters = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')

/**
 * The name the model sees. One that had to be changed ends in a hash of the original. A server may still give
 * another of its tools exactly that name; then its list has a name twice, and the first tool is used.
 */
export function mcpToolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`
  const name = plainLetters(plain)
  return name === plain && name.length <= MAX_NAME
    ? name
    : `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${shortHash(plain)}`
}

/** What the names of all tools of a server begin with. */
export const mcpToolPrefix = (server: string): string => plainLetters(`mcp__${server}__`)

/** Names of servers are short enough that no name of a tool is cut within its prefix. */
export const isNameOfServer = (name: string, server: string): boolean =>
  name.startsWith(mcpToolPrefix(server))
