/** The filters in the address, and a function that changes some. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import { type Filters, readFilters } from '../session-filters.ts'

export type FilterChange = { [K in keyof Filters]: Filters[K] | undefined }

export function useFilters(): [Filters, (change: FilterChange) => void] {
  const filters = readFilters(useSearch({ from: '/shell/sessions' }))
  const navigate = useNavigate()
  const change = useCallback(
    (wanted: FilterChange) =>
      void navigate({
        to: '.',
        search: (before: Record<string, unknown>) => ({
          ...before,
          // An undefined value removes the key from the address.
          ...Object.fromEntries(Object.keys(wanted).map(key => [key, undefined])),
          ...readFilters(wanted),
        }),
        replace: true,
      }),
    [navigate],
  )
  return [filters, change]
}
