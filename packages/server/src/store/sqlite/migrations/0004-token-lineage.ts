/**
 * Adds the engines that a token is limited to, and the token that made it. `maker_id` is no foreign key: SQLite cascades at most 1,000 rows deep,
 * and all tokens of a line belong to the same user and realm, so they end with these.
 * Existing tokens get their makers from the log; none outlives a maker that ends.
 */
export const TOKEN_LINEAGE = {
	name: "0004-token-lineage",
	sql: `
-- JSON: an array of texts.
ALTER TABLE api_token ADD COLUMN engines TEXT;

ALTER TABLE api_token ADD COLUMN maker_id TEXT;

CREATE INDEX api_token_by_maker ON api_token (maker_id) WHERE maker_id IS NOT NULL;

UPDATE api_token SET maker_id = made.maker_id
  FROM (
    SELECT data ->> 'token_made' AS id, actor, data ->> 'token_id' AS maker_id
    FROM audit_event
    WHERE type = 'auth.token.created' AND EXISTS (SELECT 1 FROM api_token)
  ) AS made
  WHERE made.id = api_token.id AND made.actor = api_token.user_id
    AND made.maker_id IN (SELECT id FROM api_token);

WITH RECURSIVE line (id, ends_at) AS (
  SELECT id, expires_at FROM api_token WHERE maker_id IS NULL
  UNION
  SELECT made.id, min(coalesce(made.expires_at, '~'), coalesce(line.ends_at, '~'))
  FROM line JOIN api_token AS made ON made.maker_id = line.id
)
UPDATE api_token SET expires_at = line.ends_at
  FROM line
  WHERE line.id = api_token.id AND line.ends_at <> '~' AND coalesce(api_token.expires_at, '~') > line.ends_at;
`,
};
