/** Accounts of people at MCP servers, as the API needs them; the app injects them. */

/** A user of the API. */
type McpPerson = { org_id: string; id: string; admin: boolean }
export type McpAccounts = {
  begin(server: string, person: McpPerson): Promise<{ authorization_url: string; expires_at: number }>
  complete(params: URLSearchParams, person: McpPerson): Promise<{ server: string; link: string }>
  list(person: McpPerson): Promise<
    {
      server: string
      per: 'user' | 'shared'
      connected: boolean
      scope: string | null
      issuer: string | null
      connected_at: number | null
    }[]
  >
  remove(server: string, person: McpPerson): Promise<boolean>
  linkOf(server: string): string
  /** The client id metadata document, for the authorization server at which it is the client's id. */
  clientDocument(): Record<string, unknown>
}
