/** Of channels.ts, what only some platforms need: visitors of a website, and what is said of a part later. */

/** Somebody in the frame of a website; only their browser has the token. */
export type ChannelVisitor = {
  token_sha256: string
  connection_id: string
  /** Whom the host page says they are. */
  subject: string | null
  name: string | null
  expires_at: number
}

export interface VisitorStore {
  putVisitor(visitor: ChannelVisitor): Promise<void>
  /** Null: nobody of this connection has that token, or its time is over. */
  visitor(connectionId: string, tokenSha256: string): Promise<ChannelVisitor | null>
  /** Those whose time is over. */
  pruneVisitors(connectionId: string): Promise<void>
}

/** no_window: it was taken, and then not shown, since the person must write first. */
export type PartStatus = {
  key: string
  outcome: 'taken' | 'no_window' | 'failed'
  message_id: string
  error: string
}

export interface LaterStore {
  /**
   * What the platform says later of a part: `taken` ends doubt, `failed` is a dead letter, and with
   * `no_window` it goes out again once the person has written.
   */
  movePart(connectionId: string, status: PartStatus): Promise<void>
}
