/** A person who logs in, and what they see of an account. */

/** A user of the API. */
export type Person = { org_id: string; id: string; admin: boolean }

export type McpAccountView = {
  server: string
  per: 'user' | 'shared'
  connected: boolean
  scope: string | null
  issuer: string | null
  connected_at: number | null
}
