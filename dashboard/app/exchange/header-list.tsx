import type { HeaderPair } from '@standin/contract';
import { usePreferenceChange } from '../shell/preferences-menu.tsx';
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
  const { change, unsaved } = usePreferenceChange();
  const isAll = (unsaved?.get('headers') ?? preferred) === 'all';
  const notable = notableHeaders(headers);
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
            onClick={() => change('headers')(isAll ? 'notable' : 'all')}
          >
            All {headers.length} headers
          </Button>
        )
      }
    />
  );
};
