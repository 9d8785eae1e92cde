/** The same chat page with the components of assistant-ui. */
import {
  AssistantRuntimeProvider,
  ComposerPrimitive as Composer,
  MessagePrimitive as Message,
  ThreadPrimitive as Thread,
} from '@assistant-ui/react'
import { AssistantChatTransport, useChatRuntime } from '@assistant-ui/react-ai-sdk'
import { createRoot } from 'react-dom/client'

const { url, token } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
const transport = new AssistantChatTransport({
  api: `${url}/compat/ai-sdk/chat`,
  headers: { authorization: `Bearer ${token}` },
})
const Shown = () => (
  <Message.Root>
    <Message.Parts />
  </Message.Root>
)

function Chat() {
  return (
    <AssistantRuntimeProvider runtime={useChatRuntime({ transport })}>
      <Thread.Root>
        <Thread.Messages components={{ Message: Shown }} />
        <Composer.Root>
          <Composer.Input aria-label="Message" />
          <Composer.Send>Send</Composer.Send>
        </Composer.Root>
      </Thread.Root>
    </AssistantRuntimeProvider>
  )
}
createRoot(document.body).render(<Chat />)
