/**
 * An HTML artifact cannot reach the network (docs/decisions/0015): no WebRTC packet, from its own frame or
 * from a frame that it creates, and no request of any other kind. The test uses a real Chromium, the server's
 * own frame and policy, and UDP and HTTP listeners on this machine.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { openBrowser, openPage } from '../browser.ts'
import { makePlace, startService } from '../server.ts'

/** Many times the time that a STUN request needs to arrive, which the control measures. */
const SETTLE_MS = 1_000
/** Number of artifacts in one page, each in its own frame. */
const TOGETHER = 8

async function sentinels() {
  const udp = createSocket('udp4')
  const http = createServer((request, response) => {
    seen.requests.push(request.url ?? '')
    response.end()
  })
  const seen = { packets: 0, requests: [] as string[] }
  udp.on('message', () => (seen.packets += 1))
  udp.bind(0, '127.0.0.1')
  http.listen(0, '127.0.0.1')
  await Promise.all([once(udp, 'listening'), once(http, 'listening')])
  onTestFinished(() => {
    udp.close()
    http.closeAllConnections()
    http.close()
  })
  return {
    seen,
    stun: `stun:127.0.0.1:${udp.address().port}`,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
  }
}

const quoted = (html: string): string => html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')

function probes(stun: string, url: string): Record<string, string> {
  const dial =
    `var R=window.RTCPeerConnection||window.webkitRTCPeerConnection;` +
    `var p=new R({iceServers:[{urls:'${stun}'}]});p.createDataChannel('x');` +
    `p.createOffer().then(o=>p.setLocalDescription(o));window.kept=p`
  const page = `<script>${dial}</script>`
  const frame = `<iframe srcdoc="${quoted(page)}"></iframe>`
  const text = (value: string) => JSON.stringify(value).replaceAll('</', String.raw`<\/`)
  const script = (body: string) => `<script>${body}</script>`
  const shadow = `<div><template shadowrootmode="closed">${frame}</template></div>`
  const data = `data:text/html,${encodeURIComponent(page)}`
  const rules = `{"prefetch":[{"source":"list","urls":["${url}/h"]}]}`
  const append = 'document.documentElement.append(f)'
  /** A frame created by a script, with a property set before it is shown. */
  const made = (set: string) => `var f=document.createElement('iframe');${set};${append}`
  return {
    'WebRTC of the frame': page,
    'WebRTC by the prototype of the window': script(
      `var R=Object.getPrototypeOf(window).RTCPeerConnection;${dial}`,
    ),
    'a srcdoc frame of the document': frame,
    'a srcdoc frame and a busy script behind it': frame + script('var t=Date.now();while(Date.now()-t<500);'),
    'a srcdoc frame made by a script': script(made(`f.srcdoc=${text(page)}`)),
    'fifty srcdoc frames': script(`for(let i=0;i<50;i++){${made(`f.srcdoc=${text(page)}`)}}`),
    'a frame by innerHTML': script(`document.body.innerHTML=${text(frame)}`),
    'a javascript: frame': `<iframe src="javascript:${quoted(dial)}"></iframe>`,
    'a javascript: frame made by a script': script(
      made(`f.src='javascript:'+encodeURIComponent(${text(dial)})`),
    ),
    'a frame in a closed shadow tree':
      '<div id="a"></div>' + script(`a.attachShadow({mode:'closed'}).innerHTML=${text(frame)}`),
    'a frame in a shadow tree of the parser': shadow,
    'a frame after the prototypes were changed': script(
      'MutationObserver.prototype.observe=Element.prototype.remove=Element.prototype.matches=' +
        `function(){};${made(`f.srcdoc=${text(page)}`)}`,
    ),
    'a document written anew': script(
      `setTimeout(()=>{document.open();document.write(${text(frame)});document.close()})`,
    ),
    'a frame of a blob': script(
      made(`f.src=URL.createObjectURL(new Blob([${text(page)}],{type:'text/html'}))`),
    ),
    'an object with a page in it': `<object data="${quoted(data)}"></object>`,
    'going to a page of data': script(`location.href='data:text/html,'+encodeURIComponent(${text(page)})`),
    'fetch, socket, beacon, event source': script(
      `fetch('${url}/a').catch(()=>0);navigator.sendBeacon('${url}/b');` +
        `try{new WebSocket('${url}/c')}catch{};new EventSource('${url}/d')`,
    ),
    'links that fetch ahead':
      `<link rel="prefetch" href="${url}/e"><link rel="modulepreload" href="${url}/f">` +
      `<link rel="preconnect" href="${url}"><link rel="stylesheet" href="${url}/g">`,
    'speculation rules': `<script type="speculationrules">${rules}</script>`,
    'images, fonts and imports':
      `<img src="${url}/i"><style>@import '${url}/j';body{background:url(${url}/k)}` +
      `@font-face{font-family:x;src:url(${url}/l)}*{font-family:x}</style>`,
    'a worker': script(`try{new Worker(URL.createObjectURL(new Blob(["fetch('${url}/m')"])))}catch{}`),
    'going elsewhere': script(`location.href='${url}/n'`),
    'a form': `<form id="q" action="${url}/o"></form>${script('q.submit()')}`,
    'a window of its own': script(`open('${url}/p')`),
  }
}

/** Promise 4.9: An HTML artifact sends nothing over the network, including WebRTC. */
test('an HTML artifact sends no STUN packet and no request, from its frame or frames that it creates', async () => {
  const server = await startService(makePlace())
  const { seen, stun, url } = await sentinels()
  const { page } = await openPage(await openBrowser())
  /** Shows artifacts, each in its own frame, as the session page does. */
  const show = async (artifacts: readonly string[]): Promise<void> => {
    await page.goto(`${server.url}/`)
    await page.evaluate(`Promise.all(${JSON.stringify(artifacts)}.map(html => new Promise(shown => {
      const frame = document.createElement('iframe')
      frame.setAttribute('sandbox', 'allow-scripts')
      frame.onload = () => {
        frame.onload = null
        frame.contentWindow.postMessage(html, '*')
        shown()
      }
      frame.src = '/artifact-frame.html'
      document.body.append(frame)
    })))`)
    await page.waitForTimeout(SETTLE_MS)
  }
  const arrived = async (artifacts: readonly string[]): Promise<string | null> => {
    // The listeners ignore packets from an earlier page.
    await page.goto('about:blank')
    Object.assign(seen, { packets: 0, requests: [] })
    await show(artifacts)
    const { packets, requests } = seen
    return packets > 0 || requests.length > 0 ? `${packets} ${requests.join(' ')}` : null
  }

  // Control: outside the frame the same code reaches the listeners.
  const tried = probes(stun, url)
  await page.goto(`${url}/control`)
  await page.setContent(tried['a srcdoc frame of the document'] ?? '')
  await expect.poll(() => seen.packets).toBeGreaterThan(0)
  await expect.poll(() => seen.requests).toContain('/control')

  const escaped: string[] = []
  const all = Object.entries(tried)
  for (let first = 0; first < all.length; first += TOGETHER) {
    const batch = all.slice(first, first + TOGETHER)
    const what = await arrived(batch.map(([, html]) => html))
    if (what === null) continue
    escaped.push(`one of ${batch.map(([name]) => name).join(', ')}: ${what}`)
    // Each artifact is shown alone to find the one whose packet arrived.
    for (const [name, html] of batch) {
      const alone = await arrived([html])
      if (alone !== null) escaped.push(`${name}: ${alone}`)
    }
  }
  tally('html artifacts', Object.keys(tried).length, escaped.length)
  expect(escaped).toEqual([])

  // The artifact still works as a page: its markup, scripts, handlers and shadow trees.
  await show([
    `<p id="p">no</p><button id="b" onclick="p.textContent='yes'">b</button><div id="s"></div>` +
      `<script>s.attachShadow({mode:'open'}).innerHTML='<i>i</i>';b.click();` +
      `document.title=p.textContent+s.shadowRoot.textContent</script>`,
  ])
  const frame = page.frames().find(one => one.url().endsWith('/artifact-frame.html'))
  await expect.poll(() => frame?.title()).toBe('yesi')
})
