import type { HeaderPair } from '@standin/contract';
import { paths } from '../paths.ts';
import { useFetcher } from '../remix.ts';
import { usePreferences } from '../shell/preferences.ts';
import { classNames } from '../ui/class-names.ts';
import { Button } from '../ui/button.tsx';
import { notableHeaders } from './notable-headers.ts';
import { PairList, type PairListProps } from './pair-list.tsx';

interface HeaderListProps extends Pick<PairListProps, 'note'> {
  readonly headers: readonly HeaderPair[];
}

/** Shows the notable headers, or all headers if the user prefers that. The preference applies to all requests. */
export const HeaderList = ({ headers, note }: HeaderListProps) => {
  const { headers: preferred } = usePreferences();
  // Keyed, so that the request's list and the response's list change together.
  const fetcher = useFetcher({ key: 'headers' });
  const isAll = (fetcher.formData?.get('headers') ?? preferred) === 'all';
  const notable = notableHeaders(headers);
  const change = (): void =>
    fetcher.submit({ headers: isAll ? 'notable' : 'all' }, { method: 'post', action: paths.preferences() });
  return (
    <PairList
      title="Headers"
      pairs={isAll ? headers : notable}
      total={headers.length}
      {...(note !== undefined && { note })}
      aside={
        notable.length < headers.length && (
          <Button
            look="ghost"
            className={classNames('ml-auto', isAll && 'bg-selected!')}
            aria-pressed={isAll}
            onClick={change}
          >
            All {headers.length} headers
          </Button>
        )
      }
    />
  );
};
