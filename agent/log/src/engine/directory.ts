/**
 * The directory: which organisation an id belongs to. Keys begin with the organisation (tables.ts), and most
 * callers have only an id, so statements look the organisation up here. The syntax works on both stores.
 */
type DirectoryKind = 'session' | 'item' | 'task' | 'mission' | 'schedule' | 'connection'

/** The organisation of an id; NULL if the id is unknown. */
export const orgOf = (kind: DirectoryKind, id: string): string =>
  `(SELECT org_key FROM directory WHERE kind = '${kind}' AND id = ${id})`
/** Organisation and key of a session. */
export const keyOf = (id: string): string =>
  `(SELECT org_key, key FROM directory WHERE kind = 'session' AND id = ${id})`
/** The organisation with that name in the API. */
export const orgNamed = (orgId: string): string => `(SELECT org_key FROM organisations WHERE id = ${orgId})`
/** The organisation of a user. */
export const orgOfUser = (userId: string): string =>
  orgNamed(`(SELECT org_id FROM users WHERE id = ${userId})`)

/** Adds an id; returns no row if it is taken, by any organisation. */
export const addToDirectory = (kind: DirectoryKind, id: string, org: string): string =>
  `INSERT INTO directory (kind, id, org_key) VALUES ('${kind}', ${id}, ${org})
  ON CONFLICT DO NOTHING RETURNING id`

/**
 * Creates an organisation, unless there is one with that id. Does nothing either if another process has taken
 * the next number at the same moment: then it is repeated.
 */
export const addOrganisation = (id: string, name: string, at: string): string => `
  INSERT INTO organisations (id, org_key, name, created_at)
  SELECT ${id}, coalesce(max(org_key), 0) + 1, ${name}, ${at} FROM organisations WHERE true
  ON CONFLICT DO NOTHING`

/** 2026-01-01. */
const EPOCH_MS = Date.UTC(2026, 0)
const RANDOM = 2 ** 13

let lastKey = 0

/**
 * A key for a new row: 40 bits of milliseconds and 13 random bits, exact in a JavaScript number. No database
 * counts it, so rows keep their keys in another one. Keys of one process grow with every call; statements
 * take the greater of it and the organisation's last key plus one, so those of an organisation grow too,
 * whatever the clock says.
 */
export const makeKey = (at: number): number =>
  (lastKey = Math.max(Math.max(0, at - EPOCH_MS) * RANDOM + Math.floor(Math.random() * RANDOM), lastKey + 1))
