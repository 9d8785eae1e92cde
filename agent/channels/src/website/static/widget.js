// The script of the host page: a button, and at its first click a frame of the service. Everything else is in
// the frame, so that no style of the page reaches it and none of ours reaches the page.
;(() => {
  const script = document.currentScript
  const { key = '', side = 'end', label } = script.dataset
  const origin = new URL(script.src).origin
  const LABELS = {
    en: ['Open chat', 'Chat'],
    de: ['Chat öffnen', 'Chat'],
    fr: ['Ouvrir le chat', 'Chat'],
    es: ['Abrir el chat', 'Chat'],
    it: ['Apri la chat', 'Chat'],
    nl: ['Chat openen', 'Chat'],
  }
  const language = document.documentElement.lang || navigator.language || 'en'
  const [open, title] = LABELS[language.slice(0, 2).toLowerCase()] ?? LABELS.en

  const host = document.createElement('div')
  const root = host.attachShadow({ mode: 'open' })
  root.innerHTML = `<style>
    :host { all: initial; }
    button, iframe { position: fixed; inset-inline-${side === 'start' ? 'start' : 'end'}: 16px; z-index: 2147483000; }
    button { bottom: 16px; width: 56px; height: 56px; border: 0; border-radius: 28px; padding: 0; cursor: pointer;
      background: #006a4b; color: #fff; box-shadow: 0 2px 12px rgb(0 0 0 / 30%); }
    button:focus-visible { outline: 3px solid #006a4b; outline-offset: 3px; box-shadow: 0 0 0 3px #fff; }
    iframe { bottom: 84px; width: min(400px, calc(100vw - 32px)); height: min(640px, calc(100vh - 100px));
      border: 1px solid rgb(128 128 128 / 40%); border-radius: 12px; background: Canvas; color-scheme: normal;
      box-shadow: 0 8px 40px rgb(0 0 0 / 30%); }
    @media (max-width: 480px) { iframe { inset: 0; width: 100%; height: 100%; border: 0; border-radius: 0; } }
    iframe[hidden] { display: none; }
  </style>
  <button type="button" aria-expanded="false">
    <svg width="26" height="26" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
      <path d="M4 5h16v11H9l-5 4z" stroke-linejoin="round"/></svg>
  </button>`
  const button = root.querySelector('button')
  button.setAttribute('aria-label', label || open)
  let frame = null

  const show = isShown => {
    if (isShown && frame === null) {
      frame = document.createElement('iframe')
      frame.title = title
      frame.src = `${origin}/v1/website/frame?key=${encodeURIComponent(key)}`
      root.append(frame)
    }
    if (frame !== null) frame.hidden = !isShown
    button.setAttribute('aria-expanded', String(isShown))
    if (isShown) frame.focus()
    else button.focus()
  }
  button.addEventListener('click', () => show(frame === null || frame.hidden))

  addEventListener('message', async ({ data, source, origin: from }) => {
    if (frame === null || from !== origin || source !== frame.contentWindow) return
    if (data?.type === 'cairn:close') show(false)
    if (data?.type !== 'cairn:ready') return
    // The page says who the visitor is by a JWT that it signed: a function, so that each visit has a fresh one.
    const identity = typeof window.cairnIdentity === 'function' ? await window.cairnIdentity() : undefined
    frame.contentWindow.postMessage({ type: 'cairn:hello', identity, language, dir: document.dir }, origin)
  })
  const add = () => document.body.append(host)
  if (document.body === null) addEventListener('DOMContentLoaded', add)
  else add()
})()
