/** The hub as a shared worker. The name of the worker is the id of the user whose pages it serves. */
import { serveHub } from './serve-hub.ts'

type Scope = { name: string; onconnect: (event: { ports: readonly MessagePort[] }) => void }
const scope = globalThis as unknown as Scope

const addPort = serveHub(scope.name)
scope.onconnect = ({ ports }) => ports.forEach(addPort)
