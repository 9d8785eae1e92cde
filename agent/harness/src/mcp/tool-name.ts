/**
 * Names of the tools of MCP servers: `mcp__<server>__<tool>`, in the letters and the length that model
 * servers take.
 */
import { createHash } from 'node:crypto'

const MAX_NAME = 64

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)

/**
 * The name the model sees. One that had to be changed ends in a hash of the original, so that two tools never
 * share one.
 */
export function mcpToolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`
  const name = plain.replace(/[^A-Za-z0-9_-]/g, '_')
  return name === plain && name.length <= MAX_NAME
    ? name
    : `${name.slice(0, MAX_NAME - 9)}_${shortHash(plain)}`
}
