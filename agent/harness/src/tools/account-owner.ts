/** Whose accounts at MCP servers a tool may use. */
import type { SessionRow } from '@cairn/log'

/** A person, or null for work that may use no personal account. */
export type AccountOwner = { org_id: string; user_id: string | null }

/** The owner of a session, if it is a person. */
export const sessionOwner = ({ org_id, created_by, created_by_kind }: SessionRow): AccountOwner => ({
  org_id,
  user_id: created_by_kind === 'user' ? created_by : null,
})
