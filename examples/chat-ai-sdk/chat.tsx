/** A chat page with `useChat` of the Vercel AI SDK: the service is its server. */
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { createRoot } from 'react-dom/client'

const { url, token, id = 'chat' } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
const transport = new DefaultChatTransport({
  api: `${url}/compat/ai-sdk/chat`,
  headers: { authorization: `Bearer ${token}` },
})

function Chat() {
  const { messages, sendMessage, status } = useChat({ id, transport, resume: true })
  const send = (form: FormData) => sendMessage({ text: String(form.get('text')) })
  return (
    <form action={send}>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>{`${role}: ${parts.map(part => (part.type === 'text' ? part.text : '')).join('')}`}</p>
      ))}
      <input name="text" aria-label="Message" disabled={status !== 'ready'} />
    </form>
  )
}
createRoot(document.body).render(<Chat />)
