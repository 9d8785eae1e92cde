/** The reason why a call needs approval. A rule without its own message gets a standard one. */
import { chatWords } from '../words/chat.ts'
export const whyAsked = (denyReason: string): string =>
  /^tool '[^']*' requires human approval/.test(denyReason) ? chatWords.needsYourApproval : denyReason
