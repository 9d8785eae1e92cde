/**
 * The bytes of a response. Throws if there are more, or the status is an error. Error messages contain no
 * URL.
 */
export async function readAtMost(response: Response, most: number): Promise<Uint8Array> {
  if (!response.ok || response.body === null) {
    await response.body?.cancel()
    throw new Error(`the platform returned ${response.status} for a file`)
  }
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body) {
    length += chunk.length
    if (length > most) throw new Error(`the file has more than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
