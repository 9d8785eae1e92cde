/** What a platform must do, for the parts that are the same on all of them. */
import type { PartStatus } from '@cairn/log'
import type { ChannelSource } from '@cairn/protocol'

/** A file that somebody sent: what is needed to fetch it, in the adapter's own words. */
export type FileRef = { name: string; mime_type?: string; size?: number; ref: Record<string, unknown> }

/** Something that came in, as the row on disk keeps it. */
export type Inbound = {
  /** The same however often the platform sends it. */
  event_key: string
  conversation_key: string
  /** Where the answer goes, in the adapter's own words. */
  target: Record<string, unknown>
  source: ChannelSource
  /** Within which the id of the sender is unique, where events of one connection differ in it. */
  workspace?: string
  text: string
  files?: FileRef[]
  /** A button of ours: `<prompt>:<choice>`. Nothing in it is trusted. */
  press?: string
  /** What a notice about this one event needs, so that only its sender sees it: a press, say. */
  reply?: Record<string, unknown>
  /** Its text replaces that of this event_key: only the sender's newest message is taken so. */
  edits?: string
  /** Of the sender, as the platform says it. */
  language?: string
  /** No message, but what became of a part of ours, which its key names. */
  status?: PartStatus
  /** Nobody mentioned us: taken only where a conversation of ours goes on. */
  only_if_standing?: boolean
  /** Why it is not taken: a bot wrote it, nobody mentioned us. */
  ignore?: string
  /** Nothing says that its sender is who they say: nobody's rights are theirs, and no account is linked. */
  unproven?: true
  /** The conversation it begins where its sender may not speak in the one of its key. */
  own_key?: string
}

type Choice = { value: string; label: string }
/** A file that goes out whole. */
export type PartFile = { name: string; mime_type: string; bytes: Uint8Array }
/** What one call sends. */
export type Part = {
  type: 'disclosure' | 'answer' | 'progress' | 'question' | 'approval' | 'file' | 'notice' | 'state'
  conversation_key: string
  target: Record<string, unknown>
  /** 0 for the disclosure; absent for a notice. */
  event_id?: number
  part: number
  text: string
  prompt?: { id: string; choices: Choice[] }
  /** Shown before the text, in the same message: for an adapter that `disclosesInside`. */
  disclosure?: string
  /** Only where it is within the adapter's `limits.fileBytes`; its name stands in `text` otherwise. */
  file?: PartFile
  /** Of a notice: what its inbound event said about answering it. */
  reply?: Record<string, unknown>
  /** The platform has refused the format: without any. */
  plain?: boolean
  /** With a button that stops what runs, where the adapter `hasStopButton`. */
  can_stop?: true
  /** It changes a message of ours; where that is gone there is nothing to send. */
  only_edits?: true
}

/**
 * transient     it was surely not taken: again later
 * rate_limited  nothing goes out in its scope before `afterMs`
 * unknown       the request left and no answer came: taken or not
 * bad_format    not as it is written: once more as plain text
 * permanent     this part will never be taken
 * no_window     only after the person has written again
 * unauthorized  the connection's credentials are refused: everything waits
 * gone          the platform wants nothing more of this connection
 */
export type Failure =
  | 'transient'
  | 'rate_limited'
  | 'unknown'
  | 'bad_format'
  | 'permanent'
  | 'no_window'
  | 'unauthorized'
  | 'gone'
export class SendFailed extends Error {
  override readonly name = 'SendFailed'
  readonly failure: Failure
  readonly afterMs: number | null
  /** What a rate limit is of. */
  readonly scope: 'conversation' | 'connection'
  constructor(
    failure: Failure,
    message: string,
    options: { afterMs?: number; scope?: 'conversation' | 'connection'; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.failure = failure
    this.afterMs = options.afterMs ?? null
    this.scope = options.scope ?? 'connection'
  }
}

/**
 * conflict      somebody else consumes with the same credentials: again later, and the operator is told
 * unauthorized  the credentials are refused; thrice in a row, and nobody tries these again unasked
 * lost          the connection broke: again, at growing intervals
 */
export type ConsumeFailure = 'conflict' | 'unauthorized' | 'lost'
export class ConsumeFailed extends Error {
  override readonly name = 'ConsumeFailed'
  readonly failure: ConsumeFailure
  constructor(failure: ConsumeFailure, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.failure = failure
  }
}

/** A request of the platform, as it came. */
export type Call = {
  method: string
  /** After the question mark. */
  query: URLSearchParams
  headers: Headers
  raw: Uint8Array
}

export type Webhook = {
  methods: readonly string[]
  /** Bytes of one request. */
  bodyLimit: number
  /**
   * Throws AppError bad_signature for what this platform did not send. A response ends the call: a challenge
   * that is answered. Null: `parse` says what came.
   */
  verify(call: Call): Response | null
  /** Throws AppError for what the platform would never send. */
  parse(call: Call): Inbound[] | Promise<Inbound[]>
  /** Once the rows are on disk; absent: 200 with an empty object. */
  taken?(): Response
}

export type Consuming = {
  /** As the last `sink` of any process left it. */
  cursor: string | null
  signal: AbortSignal
  /** Resolves when the rows, and then the cursor, are on disk: only then the platform is told. */
  sink(events: readonly Inbound[], cursor?: string): Promise<void>
  /** The platform has taken us: the connection is live. */
  live(): Promise<void>
}

/** What the platform allows. A live rate limit always wins. */
export type Limits = {
  /** Characters of one part, UTF-16 code units. */
  text: number
  /** Bytes of a file in, and out; 0: none. */
  fileBytesIn: number
  fileBytesOut: number
  /** Between two calls of one conversation; absent: any. */
  everyMs?: (target: Record<string, unknown>) => number
  /** Calls of the connection. */
  perSecond?: number
  /** Between two edits of a progress message; absent: the platform edits none. */
  editEveryMs?: (target: Record<string, unknown>) => number
  /**
   * Minutes between two messages that say that a coding run is still working, where the platform edits no
   * messages; absent: none is sent.
   */
  updateEveryMin?: number
  /** So long its typing sign lasts; absent: it has none. */
  typingMs?: number
}

export type Adapter = {
  platform: string
  /** Within which the platform's user ids are unique. */
  readonly workspace: string
  limits: Limits
  /**
   * keyed       the platform takes one key once
   * reconciled  `find` says whether a key was taken
   * unkeyed     a part whose outcome is unknown may be there
   */
  delivery: 'keyed' | 'reconciled' | 'unkeyed'
  /** The disclosure is no message of its own: it is the beginning of the first one. */
  disclosesInside?: true
  /** A progress message can have a button that stops what runs: where people cannot type a command. */
  hasStopButton?: true
  /** Nothing can be pressed: what needs a decision is a link to the web UI. */
  hasNoButtons?: true
  /**
   * Where whoever names a conversation is not thereby in it: the event as one of the conversation with this
   * target, whose target is its own from now on; null: its sender may not speak there, and begins another.
   */
  join?(standing: Record<string, unknown>, inbound: Inbound): Inbound | null
  /** Null: nobody calls us, or only `consume` brings something. */
  webhook: Webhook | null
  /**
   * A long poll, a socket, a gateway; or only what is registered at the platform. Runs in one process at a
   * time, until the signal; throws ConsumeFailed.
   */
  consume?(consuming: Consuming): Promise<void>
  send(part: Part, key: string, signal: AbortSignal): Promise<{ message_id: string | null }>
  /** Where a test message to this conversation, user or address goes. */
  address?(to: string): Pick<Part, 'conversation_key' | 'target'>
  /** Replaces what a message of ours shows; doing it twice changes nothing. */
  edit?(messageId: string, part: Part, signal: AbortSignal): Promise<void>
  /** The message that was sent under this key; null: there is none. */
  find?(part: Part, key: string, signal: AbortSignal): Promise<string | null>
  /**
   * What was said before the event in its thread, where it is in one: a line a message. Null: nothing. Throws
   * SendFailed.
   */
  threadBefore?(inbound: Inbound, signal: AbortSignal): Promise<string | null>
  /** Best effort: it shows for `limits.typingMs`. */
  typing?(target: Record<string, unknown>, signal: AbortSignal): Promise<void>
  /** Best effort, when its row is on disk: ends the spinner of a button. */
  acknowledge?(inbound: Inbound, signal: AbortSignal): Promise<void>
  /** Best effort, when what was pressed is decided: on a platform that waits for the answer. */
  pressed?(inbound: Inbound, signal: AbortSignal): Promise<void>
  /** Throws, in words for the operator, what keeps it from working; changes and sends nothing. */
  check?(signal: AbortSignal): Promise<void>
  /** Throws where there are more than `mostBytes`. */
  fetchFile?(file: FileRef, mostBytes: number, signal: AbortSignal): Promise<Uint8Array>
}
