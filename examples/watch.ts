/**
 * Sends a message to a new session and prints the events of its turn, one per line:
 *
 *   CAIRN_TOKEN=… node examples/watch.ts "What can you do?"
 *
 * `npx cairn token service-account NAME` prints a token. CAIRN_URL is the address of the service.
 */
import { createClient } from '@cairn/client'
import { factsOf, summarize } from '@cairn/protocol'

const content = process.argv[2]
const { CAIRN_URL: baseUrl = 'http://127.0.0.1:8787', CAIRN_TOKEN: token } = process.env
if (content === undefined || token === undefined) {
  console.error('usage: CAIRN_TOKEN=… node examples/watch.ts MESSAGE')
  process.exit(2)
}

const client = createClient({ baseUrl, token })
const { id } = await client.call('createSession', { body: {} })
const { event_id } = await client.call('sendMessage', { params: { id }, body: { content } })

// The stream ends when this program stops reading. It reconnects after an interruption.
reading: for await (const batch of client.events(id, { after: event_id }))
  for (const event of batch) {
    console.log(`${event.type.padEnd(20)} ${summarize(event)}`)
    // A turn ends with one of these, and a question or an approval waits for a person.
    const { status, asks } = factsOf(event.type)
    if (event.type === 'session.stopped' || status !== undefined || asks === 'waits') break reading
  }
