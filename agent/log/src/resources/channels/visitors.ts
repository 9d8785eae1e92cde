/** Parts of channels.ts that only some platforms need: visitors of a website, and late statuses of parts. */

/** A visitor in the frame of a website; only their browser has the token. */
export type ChannelVisitor = {
  token_sha256: string
  connection_id: string
  /** The identity that the host page asserts. */
  subject: string | null
  name: string | null
  expires_at: number
}

export interface VisitorStore {
  putVisitor(visitor: ChannelVisitor): Promise<void>
  /** Null if no visitor of this connection has that token, or the visitor has expired. */
  visitor(connectionId: string, tokenSha256: string): Promise<ChannelVisitor | null>
  /** Deletes expired visitors. */
  pruneVisitors(connectionId: string): Promise<void>
}

/** no_window: it was accepted but not shown, because the person must write first. */
export type PartStatus = {
  key: string
  outcome: 'taken' | 'no_window' | 'failed'
  message_id: string
  error: string
}

export interface LaterStore {
  /**
   * A late status of a part from the platform: `taken` resolves an unknown outcome, `failed` makes it a
   * failed delivery; with `no_window` it is sent again once the person has written.
   */
  movePart(connectionId: string, status: PartStatus): Promise<void>
}
