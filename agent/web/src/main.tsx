import './strict-csp.ts'
import './styles/fonts.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/json.css'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { isRetryable, isUnauthenticated } from './api.ts'
import { wasIn } from './login/was-in.ts'
import { takeTokenFromAddress } from './login/link-token.ts'
import { makeRouter } from './router.tsx'
import { Toasts, sayError } from './ui/toasts.tsx'

takeTokenFromAddress(window.location, window.history)

const toLogin = (error: unknown) => {
  if (!isUnauthenticated(error) || window.location.pathname === '/login') return
  queries.removeQueries({ queryKey: ['me'] })
  void router.navigate({
    to: '/login',
    search: { next: router.state.location.href, ...(wasIn() && { ended: true }) },
  })
}
const queries = new QueryClient({
  queryCache: new QueryCache({ onError: toLogin }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _context, mutation) => {
      toLogin(error)
      // The form shows the error itself.
      if (!isUnauthenticated(error) && mutation.meta?.['showsError'] !== true) sayError(error)
    },
  }),
  defaultOptions: {
    queries: {
      retry: (count, error) => count < 2 && isRetryable(error),
      refetchOnWindowFocus: true,
      staleTime: 1000,
    },
  },
})
const router = makeRouter(queries)

// Only in secure contexts.
void navigator.serviceWorker?.register('/service-worker.js')

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element with id "root"')
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <RouterProvider router={router} />
    <Toasts />
  </QueryClientProvider>,
)
