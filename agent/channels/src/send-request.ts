/** What an adapter needs of fetch, so that calls to URLs from the page can go through the rules of egress. */
export type Answer = {
  status: number
  headers: { get(name: string): string | null }
  body: { cancel(): Promise<void> } | null
}
export type Send = (
  url: string,
  init: {
    method: string
    redirect: 'manual'
    headers: Record<string, string>
    body: string
    signal: AbortSignal
  },
) => Promise<Answer>
