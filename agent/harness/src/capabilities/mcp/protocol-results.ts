/**
 * Keeps lists and results readable entry by entry in revision 2026-07-28. There the SDK checks a whole result
 * against the schema of its method, so one bad tool would cost the list, and one bad block the result. Such a
 * result is passed on as an empty one of its kind, with what the server sent under RAW.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'

const RAW = 'io.cairn/raw'
type Json = Record<string, unknown>

/** A valid result of each method whose result is read entry by entry. */
const EMPTY: Readonly<Record<string, Json>> = {
  'tools/list': { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [] },
  'tools/call': { resultType: 'complete', content: [] },
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the server sent. */
export const rawResult = (result: Json): Json => (isObject(result[RAW]) ? result[RAW] : result)

/** Must wrap the transport before the client connects. */
export function keepRawResults<T extends Transport>(transport: T): T {
  const methods = new Map<string | number, string>()
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && Object.hasOwn(EMPTY, message.method))
      methods.set(message.id, message.method)
    return send(message, options)
  }
  return interceptMessages(transport, message => {
    if (!('id' in message) || 'method' in message || message.id === undefined) return message
    const method = methods.get(message.id)
    methods.delete(message.id)
    if (method === undefined || !('result' in message) || !isObject(message.result)) return message
    const { resultType = 'complete' } = message.result
    // The SDK does not know the result of an extension, which the call reads itself.
    if (resultType !== 'complete' && resultType !== 'task') return message
    return { ...message, result: { ...EMPTY[method], [RAW]: message.result } } as JSONRPCMessage
  })
}

/** The client sets `onmessage` when it connects; what arrives there has passed `change`. */
function interceptMessages<T extends Transport>(
  transport: T,
  change: (message: JSONRPCMessage) => JSONRPCMessage,
): T {
  let receive = transport.onmessage
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => receive,
    set(handler: Transport['onmessage']) {
      receive =
        handler === undefined
          ? undefined
          : (message, extra) => (handler as NonNullable<Transport['onmessage']>)(change(message), extra)
    },
  })
  return transport
}
