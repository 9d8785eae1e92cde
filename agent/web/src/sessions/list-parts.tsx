/** Parts that the list and the search share: an error message, and a button for more results. */
import { describeError } from '../api.ts'
import { generalWords } from '../words/general.ts'

export const Failure = ({ error }: { error: Error | null }) =>
  error && (
    <p className="inline-error sessions-error" role="alert">
      {describeError(error)}
    </p>
  )

type MoreProps = {
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<unknown>
  words: string
}

export const More = ({ hasNextPage, isFetchingNextPage, fetchNextPage, words }: MoreProps) =>
  hasNextPage && (
    <button
      type="button"
      className="button quiet"
      disabled={isFetchingNextPage}
      onClick={() => {
        void fetchNextPage()
      }}
    >
      {isFetchingNextPage ? generalWords.loading : words}
    </button>
  )
