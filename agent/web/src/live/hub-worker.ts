/** The hub as a shared worker. The name of the worker is the id of the user whose pages it serves. */
import { serveHub } from './serve-hub.ts'

const { name = '' } = globalThis as { name?: string }
const addPort = serveHub(name)
addEventListener('connect', event => (event as MessageEvent).ports.forEach(addPort))
