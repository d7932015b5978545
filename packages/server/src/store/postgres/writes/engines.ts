/**
 * Condition that a row of engine_config is retired, and no open lease was made with it or with an earlier one in its place: a later
 * configuration may hold the newer password of that lease's target.
 */
export const IS_UNUSED =
	"state = 'retired' AND NOT EXISTS (SELECT 1 FROM engine_config AS earlier JOIN lease ON lease.config_id = earlier.id " +
	"WHERE earlier.realm_id = engine_config.realm_id AND earlier.engine = engine_config.engine " +
	"AND earlier.ordinal <= engine_config.ordinal AND lease.due_at IS NOT NULL)";
