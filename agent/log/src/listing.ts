/** Pages of listings, and the shape of what they show, whatever stores it. */
import { AppError, type ArtifactMeta } from '@cairn/protocol'

/** A listing's cursor is the internal key of its last row, which no reader can use for anything else. */
export function parseCursor(cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER
  if (!/^[0-9a-z]{1,11}$/.test(cursor))
    throw new AppError(
      'invalid_cursor',
      `cursor ${JSON.stringify(cursor)} is not one that a listing gave out`,
    )
  return Number.parseInt(cursor, 36)
}

/** `rows` hold one more than the limit when there is a next page. */
export function page<R, T>(
  rows: R[],
  limit: number,
  key: (row: R) => number,
  shape: (row: R) => T,
): { found: T[]; next_cursor: string | null } {
  const last = rows[limit - 1]
  return {
    found: rows.slice(0, limit).map(shape),
    next_cursor: rows.length > limit && last !== undefined ? key(last).toString(36) : null,
  }
}

export type StoredArtifact = Omit<ArtifactMeta, 'session_id' | 'created_at'> & { created_at: number }

export const toArtifactMeta = (row: StoredArtifact, sessionId: string): ArtifactMeta => ({
  artifact_id: row.artifact_id,
  session_id: sessionId,
  name: row.name,
  kind: row.kind,
  version: row.version,
  size: row.size,
  created_at: new Date(row.created_at).toISOString(),
})
