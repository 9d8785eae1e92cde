/**
 * The subset of fetch that adapters need, so that requests to URLs of the web UI can be checked against
 * egress rules.
 */
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
    body: string | Uint8Array<ArrayBuffer>
    signal: AbortSignal
  },
) => Promise<Answer>
