/** A person has to authorise the service at an MCP server before it can be used for them. */
export class ConsentNeeded extends Error {
  readonly server: string
  /** Where the person authorises it. */
  readonly link: string

  constructor(server: string, link: string) {
    super(`MCP server '${server}' needs the user's authorization: ${link}`)
    this.server = server
    this.link = link
  }
}

/** The reason of an error, if it is that one. */
export function consentNeededIn(thrown: unknown): ConsentNeeded | null {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 10; error = error.cause, depth += 1)
    if (error instanceof ConsentNeeded) return error
  return null
}
