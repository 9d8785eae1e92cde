/**
 * The service worker: it keeps the files of the page, shows an offline page without a network, shows push
 * messages, and renews the push subscription that the browser replaced. It never stores an answer of the API,
 * and never a page that a login was needed for.
 *
 * It stands alone: an import would make it a module of several files. The types are the part of
 * ServiceWorkerGlobalScope that it uses, because that library contradicts the one of pages.
 */
type Extendable = Event & { waitUntil(done: Promise<unknown>): void }
type FetchLike = Extendable & { request: Request; respondWith(response: Promise<Response>): void }
type PushLike = Extendable & { data: { json(): unknown } | null }
type ChangeLike = Extendable & { oldSubscription?: PushSubscription | null }
type ClickLike = Extendable & { notification: Notification }
type Page = { url: string; focus(): Promise<unknown>; navigate(url: string): Promise<unknown> }
type Scope = {
  skipWaiting(): Promise<void>
  clients: {
    claim(): Promise<void>
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<Page[]>
    openWindow(url: string): Promise<unknown>
  }
  registration: ServiceWorkerRegistration
}
const worker = globalThis as object as Scope

const CACHE = 'cairn-shell-1'
const OFFLINE = '/offline.html'
/** Files without a hash in their names. They are asked for again whenever there is a network. */
const SHELL = [
  OFFLINE,
  '/offline.css',
  '/offline.js',
  '/icon.svg',
  '/icon-waiting.svg',
  '/icon-192.png',
  '/theme.js',
  '/manifest.webmanifest',
]
/** Names under this path carry a hash of their content: a stored one is never outdated. */
const ASSETS = '/assets/'
/** The files of some releases. The oldest are dropped. */
const MAX_ASSETS = 600

async function install(): Promise<void> {
  await (await caches.open(CACHE)).addAll(SHELL)
  await worker.skipWaiting()
}

async function activate(): Promise<void> {
  const others = (await caches.keys()).filter(name => name !== CACHE)
  await Promise.all(others.map(name => caches.delete(name)))
  await worker.clients.claim()
}

async function dropOldest(cache: Cache): Promise<void> {
  const assets = (await cache.keys()).filter(({ url }) => new URL(url).pathname.startsWith(ASSETS))
  await Promise.all(assets.slice(0, Math.max(0, assets.length - MAX_ASSETS)).map(key => cache.delete(key)))
}

async function fromCacheFirst(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE)
  const kept = await cache.match(request)
  if (kept !== undefined) return kept
  const response = await fetch(request)
  if (response.ok) {
    await cache.put(request, response.clone())
    await dropOldest(cache)
  }
  return response
}

async function fromNetworkFirst(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE)
  try {
    const response = await fetch(request)
    if (response.ok) await cache.put(request, response.clone())
    return response
  } catch (error) {
    const kept = await cache.match(request)
    if (kept !== undefined) return kept
    throw error
  }
}

async function openPage(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    const offline = await (await caches.open(CACHE)).match(OFFLINE)
    if (offline !== undefined) return offline
    throw error
  }
}

function answer(event: FetchLike): void {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  if (pathname.startsWith(ASSETS)) event.respondWith(fromCacheFirst(request))
  else if (SHELL.includes(pathname)) event.respondWith(fromNetworkFirst(request))
  else if (request.mode === 'navigate') event.respondWith(openPage(request))
}

type Message = { title: string; body: string; item_id: string | null }

function readMessage(data: unknown): Message {
  const { title, body, item_id } = (data ?? {}) as Record<string, unknown>
  return {
    title: typeof title === 'string' ? title : location.host,
    body: typeof body === 'string' ? body : '',
    item_id: typeof item_id === 'string' ? item_id : null,
  }
}

/** A notification opens the item. It has no button that decides: a decision needs to be seen in full. */
function show({ data }: PushLike): Promise<void> {
  const { title, body, item_id } = readMessage(data?.json())
  return worker.registration.showNotification(title, {
    body,
    icon: '/icon-192.png',
    badge: '/badge.png',
    // A later message about the same item replaces this one.
    tag: item_id ?? 'test',
    data: item_id === null ? '/inbox' : `/inbox?item=${encodeURIComponent(item_id)}`,
  })
}

async function open({ notification }: ClickLike): Promise<void> {
  notification.close()
  const path = typeof notification.data === 'string' ? notification.data : '/inbox'
  const [page] = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  if (page === undefined) await worker.clients.openWindow(path)
  else {
    await page.focus()
    await page.navigate(path)
  }
}

/** Asks the API with the cookie of the person, whose login is renewed once. */
async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const send = (verb: string, to: string, content?: object) =>
    fetch(`/v1${to}`, {
      method: verb,
      headers: { 'x-cairn-csrf': '1', ...(content !== undefined && { 'content-type': 'application/json' }) },
      ...(content !== undefined && { body: JSON.stringify(content) }),
    })
  let response = await send(method, path, body)
  if (response.status === 401 && (await send('POST', '/auth/refresh', {})).ok)
    response = await send(method, path, body)
  if (!response.ok) throw new Error(`${method} /v1${path} returned ${response.status}`)
  return response.status === 204 ? null : response.json()
}

/** As the server computes it, and notifications/push-browser.ts, which this file cannot import. */
async function idOfEndpoint(endpoint: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint))
  return [...new Uint8Array(digest)]
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
    .slice(0, 32)
}

/**
 * The browser ended its subscription. Another one takes its place, but only for a person who turned push on:
 * another user may be logged in by now. Browsers that name no old subscription get one if the person
 * receives push anywhere.
 */
async function renewSubscription({ oldSubscription: old }: ChangeLike): Promise<void> {
  const { push } = (await ask('GET', '/notices')) as { push: { id: string }[] }
  const id = old ? await idOfEndpoint(old.endpoint) : null
  if (!push.some(browser => id === null || browser.id === id)) return
  const { public_key } = (await ask('GET', '/notices/push/key')) as { public_key: string }
  const subscription = await worker.registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: public_key,
  })
  const { endpoint, keys = {} } = subscription.toJSON()
  const { p256dh, auth } = keys
  // The old one makes room first: a person has a limited number of browsers.
  if (id !== null) await ask('DELETE', `/notices/push/${id}`)
  await ask('POST', '/notices/push', { endpoint, keys: { p256dh, auth } })
}

addEventListener('install', event => (event as Extendable).waitUntil(install()))
addEventListener('activate', event => (event as Extendable).waitUntil(activate()))
addEventListener('fetch', event => answer(event as FetchLike))
addEventListener('push', event => (event as PushLike).waitUntil(show(event as PushLike)))
addEventListener('pushsubscriptionchange', event =>
  (event as ChangeLike).waitUntil(renewSubscription(event as ChangeLike)),
)
addEventListener('notificationclick', event => (event as ClickLike).waitUntil(open(event as ClickLike)))

// Makes this file a module for the compiler, whose names are its own.
export {}
