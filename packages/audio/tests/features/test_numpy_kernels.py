from audioloom_audio import mel_filters
from audioloom_audio.features.numpy_kernels import ONE_THREAD, band_groups


def test_every_product_is_small_enough_for_one_thread() -> None:
    """Above this size OpenBLAS may share the work out, and add in another order."""
    for n_fft, n_mels in ((2048, 128), (8192, 128), (512, 20), (65536, 128), (2048, 1024)):
        groups = band_groups(mel_filters(16000, n_fft, n_mels))
        for group in groups[:-1]:
            assert 64 * group.weights.size <= ONE_THREAD or group.weights.shape[1] == 1
        assert n_mels == sum(group.weights.shape[1] for group in groups)
