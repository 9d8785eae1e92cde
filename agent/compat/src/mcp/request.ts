/** A request to the MCP server from a caller with a token. */
import type { Principal } from '@cairn/protocol'

export type McpRequest = {
  method: string
  headers: Headers
  raw: Uint8Array
  signal: AbortSignal
  principal: Principal
}
