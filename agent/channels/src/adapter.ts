/** The interface that each platform implements. */
import type { PartStatus } from '@cairn/log'
import type { ChannelSource } from '@cairn/protocol'
import type { AnsweredMessage, Quotation } from './quotation.ts'

/** A file that was sent to us: what is needed to fetch it, in the adapter's own format. */
export type FileRef = { name: string; mime_type?: string; size?: number; ref: Record<string, unknown> }

/** An inbound event as its row stores it. */
export type Inbound = {
  /** The same for every delivery of the event by the platform. */
  event_key: string
  conversation_key: string
  /** Where the answer goes, in the adapter's own format. */
  target: Record<string, unknown>
  source: ChannelSource
  /** The namespace of the sender's id, if events of one connection come from several. */
  workspace?: string
  /** What the sender wrote, or a description in brackets of what has no text, for example a location. */
  text: string
  files?: FileRef[]
  /** Messages of others that the sender passes on. */
  forwards?: Quotation[]
  /** The message that it answers. */
  answers?: AnsweredMessage
  /** How to find that message, if the event contains its id only: a person's by its key, ours by its id. */
  answers_id?: { event_key: string; message_id: string }
  /** The kind of content that this version cannot read, as the platform names it. */
  unsupported?: string
  /** Events of one album have the same value, and become one message. */
  album?: string
  /** The value of one of our buttons: `<prompt>:<choice>`. Untrusted. */
  press?: string
  /**
   * What a reply to this one event needs so that only its sender sees it, for example after a button action.
   */
  reply?: Record<string, unknown>
  /** Its text replaces that of this event_key; accepted only for the sender's newest message. */
  edits?: string
  /** The sender's language as the platform reports it. */
  language?: string
  /** Not a message but the status of one of our parts, which its key identifies. */
  status?: PartStatus
  /** The bot was not mentioned: accepted only in an existing conversation. */
  only_if_standing?: boolean
  /** Why the event is ignored: sent by a bot, or the bot was not mentioned. */
  ignore?: string
  /** The sender is not authenticated: gets no user's permissions, and no account is linked. */
  unproven?: true
  /** The conversation that it starts if its sender may not write in the one of its key. */
  own_key?: string
}

type Choice = { value: string; label: string }
/** A file that is sent complete. */
export type PartFile = { name: string; mime_type: string; bytes: Uint8Array }
/** The content of one call. */
export type OutgoingPart = {
  type: 'disclosure' | 'answer' | 'progress' | 'question' | 'approval' | 'file' | 'notice' | 'state'
  conversation_key: string
  target: Record<string, unknown>
  /** 0 for the disclosure; absent for an automatic reply. */
  event_id?: number
  part: number
  text: string
  prompt?: { id: string; choices: Choice[] }
  /** Shown before the text in the same message, for an adapter that `disclosesInside`. */
  disclosure?: string
  /** Set only within the adapter's `limits.fileBytes`; otherwise `text` contains the file's name. */
  file?: PartFile
  /** For an automatic reply: the `reply` of its inbound event. */
  reply?: Record<string, unknown>
  /** The platform rejected the formatting: send plain text. */
  plain?: boolean
  /** Adds a button that stops the running turn, if the adapter `hasStopButton`. */
  can_stop?: true
  /** Only edits an existing message; if that was deleted, nothing is sent. */
  only_edits?: true
}

/**
 * transient     certainly not accepted: retry later
 * rate_limited  send nothing in its scope before `afterMs`
 * unknown       the request was sent and got no response: it may have been accepted
 * bad_format    the formatting was rejected: retry once as plain text
 * permanent     this part will never be accepted
 * no_window     not before the person writes again
 * unauthorized  the connection's credentials were rejected: everything waits
 * gone          the platform has ended this connection
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
  /** What a rate limit applies to. */
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
 * conflict      another consumer uses the same credentials: retry later, and report it to the operator
 * unauthorized  the credentials were rejected; after three times in a row, stop until the operator retries
 * lost          the connection broke: retry with backoff
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

/** A request of the platform, as received. */
export type Call = {
  method: string
  /** The query string. */
  query: URLSearchParams
  headers: Headers
  raw: Uint8Array
}

export type Webhook = {
  methods: readonly string[]
  /** Maximum bytes of a request. */
  bodyLimit: number
  /**
   * Throws AppError bad_signature if this platform did not send the request. A response ends the call, for
   * example for a challenge. Null: `parse` reads the events.
   */
  verify(call: Call): Response | null
  /** Throws AppError for a request that the platform would never send. */
  parse(call: Call): Inbound[] | Promise<Inbound[]>
  /** The response once the rows are stored; the default is 200 with an empty object. */
  taken?(): Response
}

export type Consuming = {
  /** Stored by the last `sink` of any process. */
  cursor: string | null
  signal: AbortSignal
  /**
   * Resolves when the rows, and then the cursor, are stored: only then may the adapter acknowledge the
   * events.
   */
  sink(events: readonly Inbound[], cursor?: string): Promise<void>
  /** The platform has accepted us: the connection is live. */
  live(): Promise<void>
}

/** The platform's limits. A rate limit in a response always takes precedence. */
export type Limits = {
  /** Characters of one part, in UTF-16 code units. */
  text: number
  /** Maximum bytes of a received and a sent file; 0 for none. */
  fileBytesIn: number
  fileBytesOut: number
  /** Milliseconds between two calls in a conversation; absent if unlimited. */
  everyMs?: (target: Record<string, unknown>) => number
  /** Calls per second over the whole connection. */
  perSecond?: number
  /** Milliseconds between two edits of a progress message; absent if the platform has no edits. */
  editEveryMs?: (target: Record<string, unknown>) => number
  /**
   * Minutes between two progress messages of a coding run, on a platform without edits; absent to send none.
   */
  updateEveryMin?: number
  /** How long a typing indicator lasts; absent if there is none. */
  typingMs?: number
}

export type Adapter = {
  platform: string
  /** The namespace of the platform's user ids. */
  readonly workspace: string
  limits: Limits
  /**
   * keyed       the platform accepts each key once
   * reconciled  `find` returns whether a key was accepted
   * unkeyed     a part whose outcome is unknown may have been delivered
   */
  delivery: 'keyed' | 'reconciled' | 'unkeyed'
  /** The disclosure is not a message of its own but the beginning of the first one. */
  disclosesInside?: true
  /** Progress messages can have a stop button, for people who cannot type a command. */
  hasStopButton?: true
  /** Apps of the platform send the command /start when a person opens the chat. */
  sendsStart?: true
  /** The platform has no buttons: decisions are made through a link to the web UI. */
  hasNoButtons?: true
  /**
   * For platforms where naming a conversation does not make the sender a participant. Returns the event with
   * the target that the conversation gets from now on; null if the sender may not write there and starts
   * another conversation.
   */
  join?(standing: Record<string, unknown>, inbound: Inbound): Inbound | null
  /** Null if the platform calls no webhook, or events come only through `consume`. */
  webhook: Webhook | null
  /**
   * A long poll, a socket or a gateway; or only a registration at the platform. Runs in one process at a time
   * until the signal; throws ConsumeFailed.
   */
  consume?(consuming: Consuming): Promise<void>
  send(part: OutgoingPart, key: string, signal: AbortSignal): Promise<{ message_id: string | null }>
  /** Resolves the target of a test message: a conversation, user or address. */
  address?(to: string): Pick<OutgoingPart, 'conversation_key' | 'target'>
  /** Replaces the content of one of our messages; idempotent. */
  edit?(messageId: string, part: OutgoingPart, signal: AbortSignal): Promise<void>
  /** Finds the message that was sent with this key; null if there is none. */
  find?(part: OutgoingPart, key: string, signal: AbortSignal): Promise<string | null>
  /** Earlier messages of the event's thread, one per line; otherwise null. Throws SendFailed. */
  threadBefore?(inbound: Inbound, signal: AbortSignal): Promise<string | null>
  /** Best effort: shows the typing indicator for `limits.typingMs`. */
  typing?(target: Record<string, unknown>, signal: AbortSignal): Promise<void>
  /** Best effort, once the event's row is stored: ends the spinner of a button. */
  acknowledge?(inbound: Inbound, signal: AbortSignal): Promise<void>
  /** Best effort, once a button action is decided, on a platform that waits for the result. */
  pressed?(inbound: Inbound, signal: AbortSignal): Promise<void>
  /** Throws, with a message for the operator, if the connection cannot work. Changes and sends nothing. */
  check?(signal: AbortSignal): Promise<void>
  /** Throws if the file has more than `mostBytes`. */
  fetchFile?(file: FileRef, mostBytes: number, signal: AbortSignal): Promise<Uint8Array>
}
