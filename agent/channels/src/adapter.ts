/** What a platform must do, for the parts that are the same on all of them. */
import type { ChannelSource } from '@cairn/protocol'

/** Something that came in, as the row on disk keeps it. */
export type Inbound = {
  /** The same however often the platform sends it. */
  event_key: string
  conversation_key: string
  /** Where the answer goes, in the adapter's own words. */
  target: Record<string, unknown>
  source: ChannelSource
  text: string
  /** A button of ours: `<prompt>:<choice>`. Nothing in it is trusted. */
  press?: string
  /** Of the sender, as the platform says it. */
  language?: string
  /** Why it is not taken: a bot wrote it, it is an edit of old text. */
  ignore?: string
}

type Choice = { value: string; label: string }
/** What one call sends. */
export type Part = {
  type: 'disclosure' | 'answer' | 'question' | 'approval' | 'file' | 'notice' | 'state'
  conversation_key: string
  target: Record<string, unknown>
  /** 0 for the disclosure; absent for a notice. */
  event_id?: number
  part: number
  text: string
  prompt?: { id: string; choices: Choice[] }
}

/**
 * transient     it was surely not taken: again later
 * rate_limited  nothing goes out on this connection before `afterMs`
 * unknown       the request left and no answer came: taken or not
 * permanent     this part will never be taken
 * unauthorized  the connection's credentials are refused: everything waits
 * gone          the platform wants nothing more of this connection
 */
export type Failure = 'transient' | 'rate_limited' | 'unknown' | 'permanent' | 'unauthorized' | 'gone'
export class SendFailed extends Error {
  override readonly name = 'SendFailed'
  readonly failure: Failure
  readonly afterMs: number | null
  constructor(failure: Failure, message: string, options: { afterMs?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.failure = failure
    this.afterMs = options.afterMs ?? null
  }
}

export type Adapter = {
  platform: string
  /** Within which the platform's user ids are unique. */
  workspace: string
  /** Bytes of one request. */
  bodyLimit: number
  /** Characters of one part. */
  textLimit: number
  /** keyed: the platform takes one key once. unkeyed: a part whose outcome is unknown may be there. */
  delivery: 'keyed' | 'unkeyed'
  /** Throws AppError bad_signature for what this platform did not send. */
  verify(raw: Uint8Array, headers: Headers): void
  /** Pure. Throws AppError for what the platform would never send. */
  parse(raw: Uint8Array, headers: Headers): Inbound[]
  send(part: Part, key: string, signal: AbortSignal): Promise<{ message_id: string | null }>
}
